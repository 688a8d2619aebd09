// Every file of the page. The compiler embeds them (C23, 6.10.4), and notices when one changes.
#include "WebPage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char api_js[] = {
#embed "page/api.js"
};
static const unsigned char app_css[] = {
#embed "page/app.css"
};
static const unsigned char app_js[] = {
#embed "page/app.js"
};
static const unsigned char dom_js[] = {
#embed "page/dom.js"
};
static const unsigned char grid_js[] = {
#embed "page/grid.js"
};
static const unsigned char index_html[] = {
#embed "page/index.html"
};
static const unsigned char list_js[] = {
#embed "page/list.js"
};
static const unsigned char screens_actions_js[] = {
#embed "page/screens/actions.js"
};
static const unsigned char screens_add_js[] = {
#embed "page/screens/add.js"
};
static const unsigned char screens_columns_js[] = {
#embed "page/screens/columns.js"
};
static const unsigned char screens_decisions_js[] = {
#embed "page/screens/decisions.js"
};
static const unsigned char screens_details_js[] = {
#embed "page/screens/details.js"
};
static const unsigned char screens_fields_js[] = {
#embed "page/screens/fields.js"
};
static const unsigned char screens_graph_js[] = {
#embed "page/screens/graph.js"
};
static const unsigned char screens_keys_js[] = {
#embed "page/screens/keys.js"
};
static const unsigned char screens_limits_js[] = {
#embed "page/screens/limits.js"
};
static const unsigned char screens_links_js[] = {
#embed "page/screens/links.js"
};
static const unsigned char screens_log_js[] = {
#embed "page/screens/log.js"
};
static const unsigned char screens_schedule_js[] = {
#embed "page/screens/schedule.js"
};
static const unsigned char screens_sessions_js[] = {
#embed "page/screens/sessions.js"
};
static const unsigned char screens_settings_js[] = {
#embed "page/screens/settings.js"
};
static const unsigned char text_js[] = {
#embed "page/text.js"
};
static const unsigned char transfers_js[] = {
#embed "page/transfers.js"
};

#define FILE_ROW(name, bytes) {name, bytes, sizeof bytes}
static const web_page_file_t files[] = {
    FILE_ROW("api.js", api_js),
    FILE_ROW("app.css", app_css),
    FILE_ROW("app.js", app_js),
    FILE_ROW("dom.js", dom_js),
    FILE_ROW("grid.js", grid_js),
    FILE_ROW("index.html", index_html),
    FILE_ROW("list.js", list_js),
    FILE_ROW("screens/actions.js", screens_actions_js),
    FILE_ROW("screens/add.js", screens_add_js),
    FILE_ROW("screens/columns.js", screens_columns_js),
    FILE_ROW("screens/decisions.js", screens_decisions_js),
    FILE_ROW("screens/details.js", screens_details_js),
    FILE_ROW("screens/fields.js", screens_fields_js),
    FILE_ROW("screens/graph.js", screens_graph_js),
    FILE_ROW("screens/keys.js", screens_keys_js),
    FILE_ROW("screens/limits.js", screens_limits_js),
    FILE_ROW("screens/links.js", screens_links_js),
    FILE_ROW("screens/log.js", screens_log_js),
    FILE_ROW("screens/schedule.js", screens_schedule_js),
    FILE_ROW("screens/sessions.js", screens_sessions_js),
    FILE_ROW("screens/settings.js", screens_settings_js),
    FILE_ROW("text.js", text_js),
    FILE_ROW("transfers.js", transfers_js),
};

const size_t web_page_count = sizeof files / sizeof *files;
web_page_file_t web_page_file(size_t index) { return files[index]; }
