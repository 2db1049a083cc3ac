// Computes tables at startup, to keep the wasm file small.
#include "common/crc16.h"
#include "common/crc32.h"
#include "entropy/logistic.h"

namespace mocpack
{

LogisticTables LOGISTIC;
Crc16Tables CRC16_TABLES;
Crc32Tables CRC32_TABLES;

namespace
{

__attribute__((constructor)) void make_tables()
{
	LOGISTIC = make_logistic_tables();
	CRC16_TABLES = make_crc16_tables();
	CRC32_TABLES = make_crc32_tables();
}

} // namespace

} // namespace mocpack
