-- Version 11: a copy of a private or gated repository records who may make the copy public.

ALTER TABLE repo ADD COLUMN guard bigint; -- of a copy of a private or gated repository: the account whose admin alone makes it public; -1: an operator alone; NULL: nobody else
