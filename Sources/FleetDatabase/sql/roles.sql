-- The three roles that administrators grant to login roles. It runs before the other files. A role that may not create
-- roles gets 42501, unless all three are there; then somebody who may runs this file once.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['dld_producer', 'dld_operator', 'dld_node'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', wanted);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                -- Another database of this cluster was faster.
                NULL;
            END;
        END IF;
    END LOOP;
END
$$;
