// Computes tables at startup, to keep the wasm file small.
#include "coding/crc16.h"
#include "coding/crc32.h"
#include "coding/logistic.h"

namespace mocpack
{

LogisticTables LOGISTIC;
Crc16Table CRC16_TABLE;
Crc32Tables CRC32_TABLES;

namespace
{

__attribute__((constructor)) void make_tables()
{
	LOGISTIC = make_logistic_tables();
	CRC16_TABLE = make_crc16_table();
	CRC32_TABLES = make_crc32_tables();
}

} // namespace

} // namespace mocpack
