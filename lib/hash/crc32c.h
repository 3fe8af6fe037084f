/* CRC-32C (Castagnoli), as iSCSI and the FOLD format use it. */
#ifndef CAIRN_HASH_CRC32C_H
#define CAIRN_HASH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/** Adds bytes to a checksum. @param sum  the sum so far, 0 at first; that of "123456789" is 0xe3069283 */
uint32_t cairn_crc32c(uint32_t sum, const void *bytes, size_t len);

#endif
