"""The probes of outgoing requests, programs, load and erasure."""

from __future__ import annotations

from collections.abc import Sequence

from tests.probes.probe import Probe, checks

_OUTBOUND, _PROGRAMS, _LOAD = "outgoing requests", "programs and files", "load, money, erasure"

PROBES: Sequence[Probe] = (
    Probe(
        37,
        _OUTBOUND,
        "two parsers read one address differently",
        "the dialled addresses for all ways to write a private one",
        checks(("wings/net_guard", "")),
    ),
    Probe(
        38,
        _OUTBOUND,
        "a redirect leads to a private address",
        "no packet at a listening server after redirects of pages, skills, files and logins",
        checks(
            ("wings/net_canaries", ""),
            (
                "wings/net_fetcher",
                "an_excepted_host_may_redirect_only_to_what_is_allowed https_never_leads_to_http headers_go_to_the_host_that_was_named_and_to_no_other",
            ),
            ("wings/net_client", "no_cookies_and_no_redirects"),
            ("flows/skill_registry", "private_addresses_are_refused"),
            ("flows/mcp_login", "an_unsafe_authorization_server_is_refused"),
        ),
    ),
    Probe(
        39,
        _OUTBOUND,
        "a name changes its address between the check and the connection",
        "the number of lookups, and the addresses of all connections",
        checks(
            ("wings/net_fetcher", "three_redirects_are_followed_each_with_one_lookup"),
            ("wings/net_client", "the_proxy_of_the_environment_needs_asking"),
            ("wings/browser", "no_packet_reaches_private_addresses"),
        ),
    ),
    Probe(
        40,
        _OUTBOUND,
        "one of several ways to the network has no guard",
        "no packet at a listening server over tools, browsers, connectors and readers",
        checks(
            ("wings/net_canaries", ""),
            ("wings/browser", "no_packet_reaches_private_addresses"),
            ("wings/remote_browser", "a_remote_browser_sends_no_request_to_private_addresses"),
            ("wings/discord_outgoing", "files_are_fetched_from_nowhere_else"),
            ("wings/telegram_attacks", "nobody_else_is_asked_for_a_file no_file_of_this_machine_is_read"),
            ("wings/slack_attacks", "the_token_goes_nowhere_else"),
            ("wings/document_sandbox", "a_reader_that_was_taken_over_reaches_nothing"),
        ),
    ),
    Probe(
        41,
        _OUTBOUND,
        "an installed package runs code or fetches more packages",
        "the command of the installer, and refused names, sources and archives",
        checks(
            ("unit/code_packages", ""),
            ("wings/code_sandbox", "what_is_no_wheel_is_not_installed"),
        ),
    ),
    Probe(
        42,
        _PROGRAMS,
        "the product starts a program that it can configure itself",
        "refused commands in settings, tool servers and imports, and no started process",
        checks(
            ("flows/mcp_stored", "no_program_and_no_wrong_value_can_be_stored a_stored_program_is_never_started"),
            ("flows/web_settings", "what_cannot_be_set_is_refused_and_changes_nothing"),
            ("flows/web_workflow_attacks", "no_text_that_is_brought_in_does_more_than_be_refused"),
        ),
    ),
    Probe(
        43,
        _PROGRAMS,
        "the caller brings the workflow that runs, or reaches objects with a template",
        "refused documents, the version of each run, and the texts of hostile templates",
        checks(
            ("flows/web_workflow_attacks", ""),
            ("unit/workflow_templates", ""),
            ("flows/web_workflow_runs", "its_document_is_that_of_its_version viewers_look_and_only_operators_act"),
        ),
    ),
    Probe(
        44,
        _PROGRAMS,
        "a script leaves the sandbox",
        "the outcome of each attempt inside the real sandbox, and processes that are left",
        checks(
            (
                "wings/sandbox",
                "no_attempt_escapes nobody_outlives_a_program memory_of_no_process_cannot_be_had what_only_harms_does_not_stay_in_the_folder",
            )
        ),
    ),
    Probe(
        45,
        _PROGRAMS,
        "a script misuses the channel over which it calls tools",
        "the answers to forged, late, huge and too many calls",
        checks(
            (
                "wings/code_sandbox",
                "attempts_over_the_bridge thousands_of_calls_end_at_the_bound a_script_that_ends_leaves_no_call_behind",
            ),
            ("unit/code_manner", "garbage_is_answered_and_calls_nothing a_script_has_only_so_many_calls"),
        ),
    ),
    Probe(
        46,
        _PROGRAMS,
        "a list of forbidden words protects a shell",
        "arguments that reach a program unchanged, because there is no shell",
        checks(("flows/backup_command", "no_shell_reads_its_arguments")),
    ),
    Probe(
        47,
        _PROGRAMS,
        "a file name leads out of the folder",
        "the files that are read and written for hostile names and links",
        checks(
            ("unit/workspace", ""),
            ("unit/tool_files", "a_way_out_is_refused_in_words"),
            ("wings/media", "files_have_harmless_names"),
            ("flows/web_workflow_attacks", "the_name_of_a_workflow_makes_no_name_of_a_file"),
        ),
    ),
    Probe(
        48,
        _PROGRAMS,
        "two conversations share one file because their names are similar",
        "the folders of channels that differ in case, form, length and the last dot",
        checks(("probes/own_checks", "similar_channels_have_separate_folders")),
    ),
    Probe(
        49,
        _PROGRAMS,
        "files of strangers are fetched before the permission check",
        "no request for a file, and no row, after messages of strangers",
        checks(
            ("flows/inbox", "a_file_that_the_platform_keeps_waits_for_its_turn"),
            ("flows/strangers", "strangers_cost_nothing the_blocked_hear_nothing"),
            (
                "flows/platform_attacks",
                "what_strangers_do_to_their_own_messages_leaves_no_row a_message_with_thousands_of_files_is_no_thousands_of_downloads",
            ),
        ),
    ),
    Probe(
        50,
        _PROGRAMS,
        "an archive or a document writes elsewhere, or fills memory",
        "refused members, links, sizes and databases, and unchanged folders",
        checks(
            ("files/backup_archive", ""),
            ("files/backup_restore", "another_programs_database_is_refused a_plain_file_that_is_damaged_is_refused"),
            ("unit/skill_bundle", "refused_contents_of_archives refused_contents_of_directories"),
            ("flows/web_workflow_attacks", "no_text_that_is_brought_in_does_more_than_be_refused"),
        ),
    ),
    Probe(
        51,
        _PROGRAMS,
        "a document uses up the reader, or makes it fetch something",
        "the end of the reader within its limits, and no packet of a document",
        checks(
            ("wings/document_sandbox", ""),
            ("wings/media", "bombs_are_refused_politely_and_take_no_memory_here"),
            ("wings/page_reading", "hostile_pages_end_within_the_limits"),
        ),
    ),
    Probe(
        52,
        _PROGRAMS,
        "a search text becomes a part of a statement",
        "the rows found with operators, quotes and wildcards on both databases",
        checks(
            ("conformance/message_search", "operators_in_a_query_are_words queries_find_their_messages_in_every_script")
        ),
    ),
    Probe(
        53,
        _PROGRAMS,
        "the daemon imports a module from a folder that it or an agent writes",
        "no effect of hostile modules in the data folder and the working folder",
        checks(("probes/own_checks", "no_module_of_the_data_folder_is_imported")),
    ),
    Probe(
        54,
        _PROGRAMS,
        "an imported skill brings instructions or replaces another one",
        "the warnings before the import, and the refusal of contents that changed",
        checks(
            ("unit/skill_scan", ""),
            (
                "flows/skill_registry",
                "a_skill_from_outside_is_used_after_its_hash_is_trusted a_built_in_skill_is_hidden_only_by_request_and_until_the_removal",
            ),
            ("flows/web_skills", "a_skill_is_read_before_it_is_kept only_owners_bring_some_in"),
        ),
    ),
    Probe(
        55,
        _PROGRAMS,
        "a browser of an agent opens a debugging port",
        "the listening ports of the machine while the browser runs",
        checks(("wings/browser", "a_page_becomes_text_without_a_listening_port")),
    ),
    Probe(
        56,
        _LOAD,
        "calls of web hooks without a signature use up the daemon, or are repeated",
        "the status, the bytes that were read, and the number of runs",
        checks(("flows/webhook_hostile", "")),
    ),
    Probe(
        57,
        _LOAD,
        "a key is found by the time of the comparison, or accepted in another form",
        "the duration with and without such a user, and the status of keys in queries and bodies",
        checks(
            ("flows/web_passwords", "the_time_tells_not_whether_there_is_such_a_user"),
            ("probes/own_checks", "a_key_in_the_address_or_the_body_opens_nothing"),
            ("flows/webhook_hostile", "the_bytes_are_signed_and_not_what_they_mean"),
        ),
    ),
    Probe(
        58,
        _LOAD,
        "a poisoned conversation stays expensive for ever",
        "the prompt after `/new`, and the time for texts with very many tags",
        checks(
            ("flows/commands", "new_begins_a_fresh_conversation"),
            (
                "unit/markup",
                "what_is_too_long_or_too_much_is_stripped_and_told twice_the_text_takes_about_twice_the_time",
            ),
            ("unit/input", "no_text_makes_it_slow"),
            ("flows/web_tools", "a_large_file_is_not_taken_whole"),
        ),
    ),
    Probe(
        59,
        _LOAD,
        "an old cancellation or deadline ends a newer turn",
        "the state of the newer turn after a stop, a lost lease and a late answer",
        checks(
            ("flows/turns", "nobody_joins_a_turn_that_was_stopped_before_it_began"),
            ("flows/people_commands", "stop_ends_what_is_at_work_for_the_asker"),
            (
                "conformance/queue_leases",
                "a_cancelled_job_ends_its_task_and_frees_its_lane the_sweep_ends_the_task_of_a_lost_lease",
            ),
        ),
    ),
    Probe(
        60,
        _LOAD,
        "concurrent or invisible calls spend more than the budget",
        "the booked costs after concurrent calls, kills and stops",
        checks(
            (
                "conformance/budget",
                "a_cent_is_overspent_by_one_call_at_most processes_spend_together_and_never_wait_for_one_another",
            ),
            ("conformance/budget_model", ""),
            (
                "flows/spending",
                "a_stopped_call_is_booked_and_sets_nothing_aside a_call_that_a_kill_cut_off_is_booked_once",
            ),
        ),
    ),
    Probe(
        61,
        _LOAD,
        "deleted texts remain in files",
        "no byte of a planted word in the data folder after an erasure",
        checks(
            ("acceptance/erasure", ""),
            ("conformance/erasure", "every_table_and_column_has_a_rule words_of_erased_messages_leave_the_vocabulary"),
            ("conformance/message_search", "the_words_of_deleted_texts_leave_the_files"),
        ),
    ),
    Probe(
        62,
        _LOAD,
        "an interrupted upgrade leaves mixed data",
        "the database after a kill at points of the upgrade, and the refusal of newer data",
        checks(
            ("files/upgrade", "a_killed_upgrade_leaves_the_old_or_the_new_data a_migration_that_loses_rows_is_undone"),
            (
                "files/migrations",
                "a_newer_schema_is_refused_untouched a_failing_migration_leaves_the_schema_before_all_of_them",
            ),
        ),
    ),
    Probe(
        63,
        _LOAD,
        "names break the format of metrics, or make very many series",
        "the parsed samples of `/metrics` with hostile and with very many names",
        checks(
            ("probes/own_checks", "names_of_models_stay_inside_their_label"),
            ("flows/web_figures", "models_without_number_are_counted_together"),
            ("flows/web_seams", "nobody_writes_the_lines_of_others_into_an_export"),
        ),
    ),
    Probe(
        64,
        _LOAD,
        "two daemons use one bot",
        "the number of answers, and the refused commits of the process that has lost the bot",
        checks(
            ("conformance/bot_takeover", ""),
            (
                "conformance/role_leases",
                "a_script_of_the_holder_before_is_refused a_holder_that_sleeps_and_wakes_never_makes_two",
            ),
            ("wings/telegram_polling", "two_pollers_are_told"),
        ),
    ),
)
