/* Cards: the description of a git-like repository at the head of main, and the words by which lists find it. The hub
 * makes them from README.md and config.json, and stores them here. */
#ifndef CAIRN_INDEX_CARD_H
#define CAIRN_INDEX_CARD_H

#include "index/hub/history.h"

enum {
	CAIRN_INDEX_TAG_MAX = 96,           /* bytes of a tag, a word, a task or a library */
	CAIRN_INDEX_TAGS_MAX = 200,         /* tags of a card */
	CAIRN_INDEX_CARD_TAGS_MAX = 8192,   /* bytes of the tags, with the final zero */
	CAIRN_INDEX_CARD_WORDS_MAX = 16384, /* bytes of the words, as above */
	CAIRN_INDEX_CARD_DATA_MAX = 65536,  /* bytes of the data, as above */
	CAIRN_INDEX_CARD_CONFIG_MAX = 4096, /* bytes of the config, as above */
	CAIRN_INDEX_WORDS_ASKED_MAX = 6,    /* most words that one list may search for */
};

/** The blobs that a card was made from; all zero: there is no such file. */
struct cairn_index_card_source {
	struct cairn_git_oid readme, config;
};

/** A card. Its JSON texts are borrowed; "" stands for no text. */
struct cairn_index_card {
	char task[CAIRN_INDEX_TAG_MAX + 1], library[CAIRN_INDEX_TAG_MAX + 1]; /* may be empty */
	const char *tags;                                                     /* JSON array */
	const char *data;                                                     /* JSON object: the head of README.md */
	const char *config; /* JSON object: some members of config.json */
	const char *words;  /* JSON array of the words by which lists find the card, in lower case; NULL in answers */
};

/** Reads the card of a repository. @param[out] out  borrowed for the time of the call
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the repository has no card; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_card(struct cairn_index *ix, int64_t repo,
						  void (*visit)(void *ctx, const struct cairn_index_card *card),
						  void *ctx);

/** Reads which blobs the card of a repository was made from. @param[out] out  all zero: it has no card
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_card_source(struct cairn_index *ix, int64_t repo,
							 struct cairn_index_card_source *out);

/** Visits git-like repositories in the order of their ids, a page at a time. Only id and kind are set.
 * @return as cairn_index_each_xorb() (operate.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_each_described(struct cairn_index *ix, int64_t from_id,
							    cairn_index_visit_repo *visit, void *ctx, int64_t *next_id);

/** Replaces the card of a repository, if the head of main is still the commit that the card was made from. */
struct cairn_index_set_card {
	struct cairn_index_write write;
	int64_t repo;
	int64_t commit; /* number of the head of main */
	struct cairn_index_card_source source;
	const struct cairn_index_card *card; /* borrowed */
	bool kept;                           /* result; false: the head of main has changed since */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_card(struct cairn_index *ix, struct cairn_index_set_card *set);

#endif
