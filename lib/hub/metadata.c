#include "hub/metadata.h"

#include "base/json.h"
#include "base/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	METADATA_VALUES_MAX = 20000, /* values in README.md or in config.json */
	METADATA_LIST_MAX = 100,     /* values of one field that become tags */
};

struct metadata_reading {
	struct cairn_hub_metadata *out;
	struct cairn_json_out tags, words;
	unsigned n_tags;
};

/* --- the head of a README.md -------------------------------------------------------------------------------------- */

static bool metadata_is_rule(const char *line, size_t len)
{
	while (len > 0 && strchr(" \t\r", line[len - 1]))
		len--;
	return len == 3 && memcmp(line, "---", 3) == 0;
}

/* Finds the text between the first two lines "---". Blank lines may precede it, as on the public hub.
 * @return false: there is none */
static bool metadata_find_head(const char *text, size_t len, const char **head, size_t *head_len)
{
	const char *end = text + len, *begin = NULL;
	while (text < end && strchr(" \t\r\n", *text) && *text)
		text++;
	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;
		bool is_rule = metadata_is_rule(line, (size_t)(stop - line));
		if (!begin && !is_rule)
			return false;
		if (begin && is_rule) {
			*head = begin;
			*head_len = (size_t)(line - begin);
			return true;
		}
		line = newline ? newline + 1 : end;
		begin = begin ? begin : line;
	}
	return false;
}

/* Ends a JSON text. Omits a text that did not fit. */
static const char *metadata_text(struct cairn_buf *json)
{
	cairn_buf_add(json, "", 1);
	if (json->status == CAIRN_OK)
		return (const char *)json->bytes;
	cairn_buf_fini(json);
	return "";
}

/* @param[out] json  NULL: no object, or unreadable */
static void metadata_parse_readme(struct cairn_hub_metadata *out, const struct cairn_hub_described *described,
				  struct cairn_json **json)
{
	const char *head;
	size_t len;
	*json = NULL;
	if (!described->readme || !metadata_find_head(described->readme, described->readme_len, &head, &len))
		return;
	if (cairn_yaml_to_json(&out->data, head, len) == CAIRN_OK)
		(void)!cairn_json_parse_some(json, (const char *)out->data.bytes, out->data.len, METADATA_VALUES_MAX);
	if (!cairn_json_is_object(*json)) {
		cairn_json_freep(json);
		cairn_buf_fini(&out->data);
	}
}

/* --- tags --------------------------------------------------------------------------------------------------------- */

void cairn_hub_metadata_lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text + ('a' - 'A'));
}

static void metadata_add_word(struct metadata_reading *r, const char *prefix, const char *value)
{
	char word[CAIRN_INDEX_TAG_MAX + 1];
	int len = snprintf(word, sizeof(word), "%s%s", prefix, value);
	if (len <= 0 || (size_t)len >= sizeof(word))
		return;
	cairn_hub_metadata_lower(word);
	cairn_json_put_text(&r->words, NULL, word);
}

/* Adds a tag that is shown, and that a filter finds. A filter of its field finds the word, too. */
static void metadata_add_tag(struct metadata_reading *r, const char *prefix, const char *word, const char *value)
{
	char tag[CAIRN_INDEX_TAG_MAX + 1];
	int len = snprintf(tag, sizeof(tag), "%s%s", prefix, value);
	if (!value[0] || len < 0 || (size_t)len >= sizeof(tag) || r->n_tags == CAIRN_INDEX_TAGS_MAX)
		return;
	r->n_tags++;
	cairn_json_put_text(&r->tags, NULL, tag);
	metadata_add_word(r, prefix, value);
	if (word)
		metadata_add_word(r, word, value);
}

static void metadata_add_value(struct metadata_reading *r, const char *prefix, const char *word,
			       const struct cairn_json *value)
{
	char number[24];
	int64_t i;
	const char *text = cairn_json_string(value);
	if (!text && cairn_json_i64(value, &i)) {
		(void)snprintf(number, sizeof(number), "%" PRId64, i);
		text = number;
	}
	if (text)
		metadata_add_tag(r, prefix, word, text);
}

/* Adds the values of a field, which has one or a list. */
static void metadata_add_field(struct metadata_reading *r, const char *prefix, const char *word,
			       const struct cairn_json *field)
{
	size_t n = cairn_json_count(field);
	if (!cairn_json_is_array(field))
		metadata_add_value(r, prefix, word, field);
	for (size_t i = 0; i < n && i < METADATA_LIST_MAX; i++)
		metadata_add_value(r, prefix, word, cairn_json_at(field, i));
}

/* A field that becomes tags: the prefix of its tag, and the word of its filter. */
struct metadata_field {
	const char *name, *prefix, *word;
};

static const struct metadata_field MODEL_FIELDS[] = {
	{"tags", "", NULL},
	{"datasets", "dataset:", NULL},
	{"base_model", "base_model:", NULL},
	{"license", "license:", NULL},
	{"language", "", "language:"},
	{NULL, NULL, NULL},
};
static const struct metadata_field DATASET_FIELDS[] = {
	{"task_categories", "task_categories:", NULL},
	{"task_ids", "task_ids:", NULL},
	{"annotations_creators", "annotations_creators:", NULL},
	{"language_creators", "language_creators:", NULL},
	{"multilinguality", "multilinguality:", NULL},
	{"source_datasets", "source_datasets:", NULL},
	{"language", "language:", NULL},
	{"license", "license:", NULL},
	{"size_categories", "size_categories:", NULL},
	{"tags", "", NULL},
	{NULL, NULL, NULL},
};
static const struct metadata_field SPACE_FIELDS[] = {
	{"sdk", "", "sdk:"},
	{"tags", "", NULL},
	{"models", "model:", NULL},
	{"datasets", "dataset:", NULL},
	{"license", "license:", NULL},
	{"language", "", "language:"},
	{NULL, NULL, NULL},
};

static const struct metadata_field *metadata_fields(enum cairn_index_repo_kind kind)
{
	if (kind == CAIRN_INDEX_DATASET)
		return DATASET_FIELDS;
	return kind == CAIRN_INDEX_SPACE ? SPACE_FIELDS : MODEL_FIELDS;
}

/* --- library and task --------------------------------------------------------------------------------------------- */

static bool metadata_has_tag(const struct cairn_json *readme, const char *tag)
{
	const struct cairn_json *tags = cairn_json_get(readme, "tags");
	for (size_t i = 0; i < cairn_json_count(tags) && i < METADATA_LIST_MAX; i++) {
		const char *text = cairn_json_string(cairn_json_at(tags, i));
		if (text && strcmp(text, tag) == 0)
			return true;
	}
	return false;
}

/* Finds the library as the public hub does: the name that the author gives, then a tag that is a library's name, then
 * the library of config.json. */
static const char *metadata_library(const struct cairn_json *readme, const struct cairn_json *config)
{
	static const char *const LIBRARIES[] = {"transformers", "diffusers",   "sentence-transformers",
						"peft",         "timm",        "adapters",
						"setfit",       "keras",       "spacy",
						"fastai",       "flair",       "stable-baselines3",
						"sklearn",      "safetensors", NULL};
	const char *said = cairn_json_text_of(readme, "library_name");
	if (said)
		return said;
	for (const char *const *name = LIBRARIES; *name; name++)
		if (metadata_has_tag(readme, *name))
			return *name;
	bool is_of_transformers = cairn_json_text_of(config, "model_type") || cairn_json_get(config, "architectures");
	return is_of_transformers ? "transformers" : "";
}

static bool metadata_ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);
	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Finds the task: the author's, or that of the model's class. */
static const char *metadata_task(const struct cairn_json *readme, const struct cairn_json *config)
{
	static const struct {
		const char *ending, *task;
	} CLASSES[] = {
		{"ForCausalLM", "text-generation"},
		{"LMHeadModel", "text-generation"},
		{"ForMaskedLM", "fill-mask"},
		{"ForSequenceClassification", "text-classification"},
		{"ForTokenClassification", "token-classification"},
		{"ForQuestionAnswering", "question-answering"},
		{"ForImageClassification", "image-classification"},
		{"ForObjectDetection", "object-detection"},
		{"ForAudioClassification", "audio-classification"},
		{"ForCTC", "automatic-speech-recognition"},
	};
	const char *said = cairn_json_text_of(readme, "pipeline_tag");
	const char *class = cairn_json_string(cairn_json_at(cairn_json_get(config, "architectures"), 0));
	if (said || !class)
		return said ? said : "";
	for (size_t i = 0; i < sizeof(CLASSES) / sizeof(CLASSES[0]); i++)
		if (metadata_ends_with(class, CLASSES[i].ending))
			return CLASSES[i].task;
	return "";
}

/* Copies a name, unless it is too long. */
static void metadata_copy(char out[static CAIRN_INDEX_TAG_MAX + 1], const char *text)
{
	size_t len = strlen(text);
	if (len <= CAIRN_INDEX_TAG_MAX)
		memcpy(out, text, len + 1);
}

/* --- config.json -------------------------------------------------------------------------------------------------- */

/* Copies the members of config.json that clients read in an answer of the hub. */
static void metadata_keep_config(struct cairn_hub_metadata *out, const struct cairn_json *config)
{
	static const char *const MEMBERS[] = {"architectures", "model_type", "auto_map", NULL};
	struct cairn_json_out w = cairn_json_out_init(&out->config);
	if (!config)
		return;
	cairn_json_open_object(&w, NULL);
	for (const char *const *name = MEMBERS; *name; name++) {
		const struct cairn_json *value = cairn_json_get(config, *name);
		if (value)
			cairn_json_put_value(&w, *name, value);
	}
	cairn_json_close(&w);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void metadata_put_tags(struct metadata_reading *r, enum cairn_index_repo_kind kind,
			      const struct cairn_json *readme)
{
	const struct cairn_index_card *card = &r->out->card;
	cairn_json_open_array(&r->tags, NULL);
	cairn_json_open_array(&r->words, NULL);
	metadata_add_tag(r, "", "library:", card->library);
	metadata_add_tag(r, "", "pipeline_tag:", card->task);
	for (const struct metadata_field *field = metadata_fields(kind); field->name; field++)
		metadata_add_field(r, field->prefix, field->word, cairn_json_get(readme, field->name));
	cairn_json_close(&r->tags);
	cairn_json_close(&r->words);
}

void cairn_hub_metadata_fini(struct cairn_hub_metadata *metadata)
{
	cairn_buf_fini(&metadata->words);
	cairn_buf_fini(&metadata->tags);
	cairn_buf_fini(&metadata->data);
	cairn_buf_fini(&metadata->config);
}

static bool metadata_has_no_memory(const struct cairn_hub_metadata *m)
{
	return m->words.status == CAIRN_E_NOMEM || m->tags.status == CAIRN_E_NOMEM || m->data.status == CAIRN_E_NOMEM ||
	       m->config.status == CAIRN_E_NOMEM;
}

enum cairn_status cairn_hub_metadata_read(struct cairn_hub_metadata *out, enum cairn_index_repo_kind kind,
					  const struct cairn_hub_described *described)
{
	CLEANUP(cairn_json_freep) struct cairn_json *readme = NULL, *config = NULL;
	*out = (struct cairn_hub_metadata){
		.words = cairn_buf_init(CAIRN_INDEX_CARD_WORDS_MAX),
		.tags = cairn_buf_init(CAIRN_INDEX_CARD_TAGS_MAX),
		.data = cairn_buf_init(CAIRN_INDEX_CARD_DATA_MAX),
		.config = cairn_buf_init(CAIRN_INDEX_CARD_CONFIG_MAX),
	};
	struct metadata_reading r = {
		.out = out, .tags = cairn_json_out_init(&out->tags), .words = cairn_json_out_init(&out->words)};
	bool is_model = kind == CAIRN_INDEX_MODEL || kind == CAIRN_INDEX_KERNEL;
	metadata_parse_readme(out, described, &readme);
	if (is_model && described->config)
		(void)!cairn_json_parse_some(&config, described->config, described->config_len, METADATA_VALUES_MAX);
	if (is_model) {
		metadata_copy(out->card.library, metadata_library(readme, config));
		metadata_copy(out->card.task, metadata_task(readme, config));
	}
	metadata_put_tags(&r, kind, readme);
	metadata_keep_config(out, cairn_json_is_object(config) ? config : NULL);
	if (metadata_has_no_memory(out))
		return CAIRN_E_NOMEM;
	out->card.data = readme ? metadata_text(&out->data) : "";
	out->card.config = out->config.len > 0 ? metadata_text(&out->config) : "";
	out->card.tags = metadata_text(&out->tags);
	out->card.words = metadata_text(&out->words);
	return CAIRN_OK;
}
