/* The query arguments that narrow a list of repositories, such as filter and license. */
#ifndef CAIRN_SERVER_HUB_FILTER_H
#define CAIRN_SERVER_HUB_FILTER_H

#include "hub/metadata.h"
#include "server/http/http.h"

/** The filters of a list. Zeroed: none. */
struct hub_filter {
	enum cairn_index_wanted is_private, gated;
	char words[CAIRN_INDEX_WORDS_ASKED_MAX][CAIRN_INDEX_TAG_MAX + 1]; /* words of the card, in lower case */
	uint32_t n_words;
	bool too_many;
};

/** Reads the query arguments that narrow a list. @return false: an error was replied: too many filters, or one that
 * only the public hub has */
bool hub_filter_read(struct http_request *req, struct hub_filter *out);
/** Appends the filters to an address, as query arguments that hub_filter_read() reads. */
void hub_filter_put(struct cairn_buf *out, const struct hub_filter *filter);

#endif
