/* Stores the upstream's description of a repository as its card. The hub makes cards from README.md, which may not have
 * been fetched, and has less in it. */
#include "index/hub/card.h"
#include "base/json.h"
#include "hub/metadata.h"
#include "hub/revision.h"
#include "mirror/parts.h"

#include <string.h>

/* A card and the texts to which it points. */
struct card_made {
	struct cairn_index_card card;
	struct cairn_buf tags, words, data, config;
};

static void card_made_fini(struct card_made *made)
{
	cairn_buf_fini(&made->tags);
	cairn_buf_fini(&made->words);
	cairn_buf_fini(&made->data);
	cairn_buf_fini(&made->config);
}

/* Returns the text of a buffer; "" if it is longer than a card may have. */
static const char *card_text(struct cairn_buf *buf)
{
	cairn_buf_add(buf, "", 1);
	return buf->status == CAIRN_OK ? (const char *)buf->bytes : "";
}

static bool card_is_word(const char *text)
{
	return text && text[0] && strlen(text) <= CAIRN_INDEX_TAG_MAX;
}

static void card_put_word(struct cairn_json_out *w, const char *text)
{
	char word[CAIRN_INDEX_TAG_MAX + 1];
	if (!card_is_word(text))
		return;
	memcpy(word, text, strlen(text) + 1);
	cairn_hub_metadata_lower(word);
	cairn_json_put_text(w, NULL, word);
}

static void card_put_tags(struct card_made *made, const struct cairn_json *tags)
{
	struct cairn_json_out t = cairn_json_out_init(&made->tags), w = cairn_json_out_init(&made->words);
	cairn_json_open_array(&t, NULL);
	cairn_json_open_array(&w, NULL);
	card_put_word(&w, made->card.task);
	card_put_word(&w, made->card.library);
	for (size_t i = 0; i < cairn_json_count(tags) && i < CAIRN_INDEX_TAGS_MAX; i++) {
		const char *tag = cairn_json_string(cairn_json_at(tags, i));
		if (card_is_word(tag))
			cairn_json_put_text(&t, NULL, tag);
		card_put_word(&w, tag);
	}
	cairn_json_close(&t);
	cairn_json_close(&w);
}

/* Returns the JSON of an object; "" for other values. */
static const char *card_put_object(struct cairn_buf *buf, const struct cairn_json *value)
{
	struct cairn_json_out w = cairn_json_out_init(buf);
	if (!cairn_json_is_object(value))
		return "";
	cairn_json_put_value(&w, NULL, value);
	return card_text(buf);
}

static void card_make(struct card_made *made, const struct cairn_json *info)
{
	struct cairn_index_card *card = &made->card;
	made->tags = cairn_buf_init(CAIRN_INDEX_CARD_TAGS_MAX);
	made->words = cairn_buf_init(CAIRN_INDEX_CARD_WORDS_MAX);
	made->data = cairn_buf_init(CAIRN_INDEX_CARD_DATA_MAX);
	made->config = cairn_buf_init(CAIRN_INDEX_CARD_CONFIG_MAX);
	(void)cairn_json_copy_of(info, "pipeline_tag", "", card->task, sizeof(card->task));
	(void)cairn_json_copy_of(info, "library_name", "", card->library, sizeof(card->library));
	card_put_tags(made, cairn_json_get(info, "tags"));
	card->tags = card_text(&made->tags);
	card->words = card_text(&made->words);
	card->data = card_put_object(&made->data, cairn_json_get(info, "cardData"));
	card->config = card_put_object(&made->config, cairn_json_get(info, "config"));
}

/* Finds the blobs from which the hub would make the card. The hub does not make a card with the same source again. */
static void card_find_source(struct cairn_index *ix, const struct cairn_index_commit *head,
			     struct cairn_index_card_source *out)
{
	struct cairn_index_entry entry;
	if (cairn_index_entry(ix, head, "README.md", &entry) == CAIRN_OK)
		out->readme = entry.oid;
	if (cairn_index_entry(ix, head, "config.json", &entry) == CAIRN_OK)
		out->config = entry.oid;
}

void mirror_card_keep(const struct mirror_fetch *f, int64_t repo)
{
	CLEANUP(cairn_json_freep) struct cairn_json *info = NULL;
	CLEANUP(card_made_fini) struct card_made made = {0};
	struct cairn_index *ix = f->m->hub->index;
	struct cairn_index_commit head;
	if (cairn_json_parse_some(&info, (const char *)f->info.bytes, f->info.len, MIRROR_REPO_VALUES_MAX) !=
		    CAIRN_OK ||
	    cairn_index_ref(ix, repo, CAIRN_INDEX_BRANCH, CAIRN_HUB_MAIN, &head) != CAIRN_OK)
		return;
	card_make(&made, info);
	struct cairn_index_set_card set = {.repo = repo, .commit = head.id, .card = &made.card};
	card_find_source(ix, &head, &set.source);
	(void)!cairn_index_set_card(ix, &set);
}
