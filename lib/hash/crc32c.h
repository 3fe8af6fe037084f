/* CRC-32C (Castagnoli), as iSCSI and the FOLD format use it. */
#ifndef CAIRN_HASH_CRC32C_H
#define CAIRN_HASH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/** The sum of what was summed up so far and of these bytes. @param sum  0 for none; "123456789" gives 0xe3069283 */
uint32_t cairn_crc32c(uint32_t sum, const void *bytes, size_t len);

#endif
