/* Cards: what a git-like repository says of itself at the head of main, for lists, and the words by which lists find
 * it. They follow from its README.md and its config.json; the hub reads those and keeps the outcome here. */
#ifndef CAIRN_INDEX_CARD_H
#define CAIRN_INDEX_CARD_H

#include "index/hub/history.h"

enum {
	CAIRN_INDEX_TAG_MAX = 96,         /* bytes of a tag, a word, a task or a library */
	CAIRN_INDEX_TAGS_MAX = 200,       /* tags of a card */
	CAIRN_INDEX_CARD_TAGS_MAX = 8192, /* bytes of each text below, with the zero */
	CAIRN_INDEX_CARD_WORDS_MAX = 16384,
	CAIRN_INDEX_CARD_DATA_MAX = 65536,
	CAIRN_INDEX_CARD_CONFIG_MAX = 4096,
	CAIRN_INDEX_WORDS_ASKED_MAX = 6, /* words of one list */
};

/** The blobs of which a card was made; all zero where there is no such file. */
struct cairn_index_card_source {
	struct cairn_git_oid readme, config;
};

/** A card. Its texts are JSON, borrowed; "" where there is nothing. */
struct cairn_index_card {
	char task[CAIRN_INDEX_TAG_MAX + 1], library[CAIRN_INDEX_TAG_MAX + 1]; /* may be empty */
	const char *tags;                                                     /* array */
	const char *data;                                                     /* object: the head of README.md */
	const char *config;                                                   /* object: some members of config.json */
	const char *words; /* array: what lists find it by, in lower case; NULL in answers */
};

/** Reads the card of a repository. @param[out] out  borrowed for the time of the call
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND it has none; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_card(struct cairn_index *ix, int64_t repo,
						  void (*visit)(void *ctx, const struct cairn_index_card *card),
						  void *ctx);

/** Reads of what the card of a repository was made. @param[out] out  all zero: it has none
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_card_source(struct cairn_index *ix, int64_t repo,
							 struct cairn_index_card_source *out);

/** Visits git-like repositories by their numbers, a page at a time: only id and kind are set.
 *  @return as cairn_index_each_xorb() (operate.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_each_described(struct cairn_index *ix, int64_t from_id,
							    cairn_index_visit_repo *visit, void *ctx, int64_t *next_id);

/** Replaces the card of a repository, if the head of main is still the commit that the card was read from. */
struct cairn_index_set_card {
	struct cairn_index_write write;
	int64_t repo;
	int64_t commit; /* number of the head of main */
	struct cairn_index_card_source source;
	const struct cairn_index_card *card; /* borrowed */
	bool kept;                           /* result; false: main has moved on */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_card(struct cairn_index *ix, struct cairn_index_set_card *set);

#endif
