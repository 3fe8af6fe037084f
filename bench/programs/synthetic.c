#include "synthetic.h"

#include "base/bytes.h"

uint64_t synthetic_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

struct cairn_hash synthetic_hash(uint64_t kind, uint64_t number)
{
	struct cairn_hash hash;
	for (unsigned i = 0; i < 4; i++)
		cairn_put_u64le(hash.b + 8 * i, synthetic_mix(kind << 56 ^ number << 2 ^ i));
	return hash;
}
