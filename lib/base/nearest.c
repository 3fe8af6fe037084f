#include "base/nearest.h"

#include <string.h>

enum { NEAREST_LETTERS_MAX = 48, NEAREST_LETTERS_FEW = 4 };

struct cairn_nearest cairn_nearest_to(const char *wanted, size_t len)
{
	return (struct cairn_nearest){wanted, len, NULL, len < NEAREST_LETTERS_FEW ? 2 : 3};
}

/* Returns the edit distance (Levenshtein): how many letters to insert, omit or replace to get the other name. */
static unsigned nearest_distance(const struct cairn_nearest *wanted, const char *name, size_t len)
{
	unsigned row[NEAREST_LETTERS_MAX + 1];
	for (unsigned k = 0; k <= len; k++)
		row[k] = k;
	for (unsigned i = 1; i <= wanted->len; i++) {
		unsigned before = row[0]; /* value of the row above, to the left */
		row[0] = i;
		for (unsigned k = 1; k <= len; k++) {
			unsigned least = before + (wanted->wanted[i - 1] != name[k - 1]);
			least = row[k] + 1 < least ? row[k] + 1 : least;
			least = row[k - 1] + 1 < least ? row[k - 1] + 1 : least;
			before = row[k];
			row[k] = least;
		}
	}
	return row[len];
}

void cairn_nearest_offer(struct cairn_nearest *n, const char *name)
{
	size_t len = strlen(name);
	if (n->len > NEAREST_LETTERS_MAX || len > NEAREST_LETTERS_MAX)
		return;
	unsigned distance = nearest_distance(n, name, len);
	if (distance < n->least) {
		n->least = distance;
		n->best = name;
	}
}
