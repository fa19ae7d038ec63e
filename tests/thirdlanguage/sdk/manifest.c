#include "internal.h"

static void put_schema(mp_writer *w, const cr_schema *schema);

static void put_fields(mp_writer *w, const cr_schema *schema) {
    mp_put_array(w, schema->field_count);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const cr_field *field = &schema->fields[i];
        mp_put_map(w, 3);
        cr_field_text(w, "name", field->name);
        mp_put_text(w, "required");
        mp_put_bool(w, field->required);
        mp_put_text(w, "schema");
        put_schema(w, field->schema);
    }
}

/* The recursion is as deep as the tables in this module, which its author wrote. */
static void put_schema(mp_writer *w, const cr_schema *schema) {
    if (schema == NULL) {
        mp_put_nil(w);
        return;
    }
    mp_put_map(w, 5);
    cr_field_int(w, "bits", schema->bits);
    mp_put_text(w, "elem");
    put_schema(w, schema->elem);
    mp_put_text(w, "fields");
    put_fields(w, schema);
    mp_put_text(w, "nullable");
    mp_put_bool(w, schema->nullable);
    cr_field_text(w, "type", schema->type);
}

static void put_workflow(mp_writer *w, const cr_workflow_def *def) {
    mp_put_map(w, 4);
    mp_put_text(w, "input");
    put_schema(w, def->input);
    cr_field_text(w, "key", def->key == NULL ? "request" : def->key_raw ? "function_raw" : "function_hashed");
    cr_field_text(w, "name", def->name);
    mp_put_text(w, "output");
    put_schema(w, def->output);
}

static void put_activity(mp_writer *w, const cr_activity_def *def) {
    mp_put_map(w, 5);
    mp_put_text(w, "input");
    put_schema(w, def->input);
    cr_field_text(w, "name", def->name);
    mp_put_text(w, "output");
    put_schema(w, def->output);
    cr_field_retry(w, &(cr_retry){0});
    cr_field_int(w, "timeout", 0);
}

static void put_migration(mp_writer *w, const cr_migration *migration) {
    mp_put_map(w, 4);
    cr_field_text(w, "dialect", migration->dialect);
    cr_field_text(w, "name", migration->name);
    cr_field_text(w, "sql", migration->sql);
    cr_field_int(w, "version", migration->version);
}

void cr_put_manifest(mp_writer *w, const cr_module *module) {
    mp_put_map(w, 4);
    mp_put_text(w, "activities");
    mp_put_array(w, module->activity_count);
    for (uint32_t i = 0; i < module->activity_count; i++)
        put_activity(w, module->activities[i]);
    mp_put_text(w, "migrations");
    mp_put_array(w, module->migration_count);
    for (uint32_t i = 0; i < module->migration_count; i++)
        put_migration(w, module->migrations[i]);
    cr_field_text(w, "sdk", "c/0.1.0");
    mp_put_text(w, "workflows");
    mp_put_array(w, module->workflow_count);
    for (uint32_t i = 0; i < module->workflow_count; i++)
        put_workflow(w, module->workflows[i]);
}
