/* The numbers that GearHash adds, by byte. */
#ifndef CAIRN_CHUNK_GEAR_TABLE_H
#define CAIRN_CHUNK_GEAR_TABLE_H

#include <stdint.h>

extern const uint64_t CAIRN_GEAR_TABLE[256];

#endif
