// The logistic tables of series, made when the program starts: a wasm file would carry every byte of them.
#include "common/logistic.h"

namespace mocpack
{

LogisticTables LOGISTIC;

namespace
{

__attribute__((constructor)) void make_tables()
{
	LOGISTIC = make_logistic_tables();
}

} // namespace

} // namespace mocpack
