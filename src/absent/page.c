/* Replaces the viewer's page in a build without it: the page is empty. */
#include "view/shell.h"

const size_t ek__view_page_document = 0;
const size_t ek__view_page_size = 0;
const unsigned char ek__view_page[1] = {0};
