"""The probes of people, pages and injected instructions."""

from __future__ import annotations

from collections.abc import Sequence

from tests.probes.probe import Probe, checks

_IDENTITY, _PAGE, _INJECTION = "identity and rights", "browser and web", "injection and effects"

PROBES: Sequence[Probe] = (
    Probe(
        1,
        _IDENTITY,
        "a name or an id in the request replaces the identity of the key",
        "the stored sender of each message, and rights of look-alike names",
        checks(
            ("unit/web_access_rules", "only_owner_keys_name_a_user a_chat_key_has_no_other_channel"),
            ("flows/web_keys", "two_keys_are_two_users_and_an_owners_key_speaks_for_others"),
            ("flows/platform_attacks", "a_name_gives_no_rights"),
            ("flows/identities", "names_link_nobody"),
        ),
    ),
    Probe(
        2,
        _IDENTITY,
        "a list shows rows of other people because a parameter names them",
        "the rows that a chat key gets with filters and searches for others",
        checks(
            ("flows/web_talks", "a_chat_key_sees_its_own_and_nothing_else a_chat_key_filters_and_searches_its_own"),
            ("flows/mcp_server", "a_chat_key_sees_what_it_said_and_was_told"),
        ),
    ),
    Probe(
        3,
        _IDENTITY,
        "the id of a conversation continues the conversation of another person",
        "the threads of equal ids under two keys, and the frames that a socket gets",
        checks(
            ("probes/own_checks", "equal_users_of_two_keys_share_no_conversation"),
            ("flows/web_seams", "ids_of_messages_do_not_meet_across_people"),
            ("flows/web_socket", "a_chat_key_hears_its_own_channel_only"),
        ),
    ),
    Probe(
        4,
        _IDENTITY,
        "rows of others are changed or deleted by their id",
        "the status of every route for every role, and the rows afterwards",
        checks(
            ("flows/web_roles", "each_route_lets_in_exactly_who_may each_frame_is_for_exactly_who_may"),
            ("flows/memory_command", "people_delete_what_is_theirs"),
            ("flows/inbox_changes", "nobody_changes_what_somebody_else_wrote"),
        ),
    ),
    Probe(
        5,
        _IDENTITY,
        "a search by title or word finds texts of other people",
        "the results of searches, explanations and file reads of a stranger to the conversation",
        checks(
            (
                "conformance/message_search",
                "a_person_finds_only_what_they_may_read neighbours_are_found_only_by_people_who_may_read_them",
            ),
            ("flows/people_commands", "why_tells_nobody_of_others"),
            ("flows/memory_command", "a_group_is_told_nothing_of_a_person"),
            ("flows/past_files", "no_other_conversation_can_be_read"),
        ),
    ),
    Probe(
        6,
        _IDENTITY,
        "the caller names tools or agents that are not meant for the caller",
        "refusals of parameters and agents, and the tools that a run offers",
        checks(
            ("flows/web_completions_parameters", "what_cannot_be_heeded_is_refused_by_its_name"),
            ("flows/client_tools", "results_belong_to_the_key_that_asked"),
            ("flows/agent_access", "an_operator_begins_no_workflow_of_an_agent_that_is_closed_to_them"),
            ("flows/web_keys", "a_key_of_some_agents_counts_as_paired_with_them"),
        ),
    ),
    Probe(
        7,
        _IDENTITY,
        "a guard is missing when another agent, a workflow or a script makes the call",
        "the refusal of the same call by each path, and its audit entry",
        checks(
            (
                "flows/delegation",
                "rights_only_shrink what_limits_a_key_travels_with_its_tasks a_delegated_conductor_asks_before_it_does",
            ),
            ("flows/converse", "rights_only_shrink who_may_not_ask_an_agent_does_not_reach_it_by_another_one"),
            (
                "flows/working_alone_attacks",
                "a_run_gives_no_task_to_who_has_tools_that_it_may_not_use nor_by_way_of_a_third",
            ),
            ("flows/code_graph", "what_needs_a_persons_word_cannot_be_called_from_a_script"),
        ),
    ),
    Probe(
        8,
        _IDENTITY,
        "a caller gives itself rights with additional fields",
        "status 422 with the name of the field; frames before the greeting end the socket",
        checks(
            ("flows/web_strictness", ""),
            ("flows/web_socket", "nothing_works_before_the_greeting"),
            ("flows/web_bounds", "numbers_and_encodings_that_json_does_not_know_are_refused"),
        ),
    ),
    Probe(
        9,
        _IDENTITY,
        "a caller makes a key, a user, a hook or a version with more rights than their own",
        "status 403, and the rights with which the created thing runs",
        checks(
            ("flows/web_keys", "only_owners_see_and_make_keys"),
            ("flows/web_users", "only_owners_see_and_change_users"),
            ("flows/web_settings", "only_owners_change_and_viewers_do_not_look"),
            ("flows/agent_access", "an_operator_makes_no_web_hook_for_an_agent_that_is_closed_to_them"),
            (
                "flows/authors",
                "a_restored_version_stays_its_authors an_imported_workflow_is_its_importers an_undone_change_is_still_its_authors",
            ),
        ),
    ),
    Probe(
        10,
        _IDENTITY,
        "a credential counts because it is present, not because it is valid",
        "status 401 of every route for each malformed key and cookie",
        checks(
            ("flows/web_access", "nothing_opens_without_a_right_credential a_wrong_key_is_not_saved_by_a_right_cookie"),
            (
                "flows/web_roles",
                "each_route_refuses_whoever_shows_nothing_that_holds no_socket_opens_for_what_does_not_hold",
            ),
            ("flows/web_bounds", "a_quoted_cookie_is_no_login"),
        ),
    ),
    Probe(
        11,
        _IDENTITY,
        "an empty list of people means everybody",
        "the answer to a person after the last name was removed from the list",
        checks(
            (
                "flows/agent_access",
                "an_empty_list_is_for_owners_alone_and_none_for_everybody taking_the_last_person_from_a_list_opens_the_agent_to_nobody",
            ),
            ("files/migrations", "an_empty_list_of_people_still_means_everybody_after_the_update"),
        ),
    ),
    Probe(
        12,
        _IDENTITY,
        "a change of an item also sets its owner, author or id",
        "status 422 for fields that a caller cannot set, and the stored author",
        checks(
            ("flows/web_strictness", "an_unknown_field_is_named_with_those_that_are_known"),
            ("flows/authors", "words_of_an_operator_stay_theirs_when_an_owner_changes_the_time"),
        ),
    ),
    Probe(
        13,
        _IDENTITY,
        "prompts or keys are sent to another server by a changed setting",
        "status 403, a key that is removed when its address changes, and spans without texts",
        checks(
            (
                "flows/web_settings",
                "what_cannot_be_set_is_refused_and_changes_nothing only_owners_change_and_viewers_do_not_look",
            ),
            ("flows/web_accounts", "operators_read_and_owners_write a_key_does_not_follow_to_another_address"),
            ("flows/telemetry", "content_goes_along_only_where_it_is_wanted"),
        ),
    ),
    Probe(
        14,
        _IDENTITY,
        "an open port without a password, or with a known one",
        "the start is refused for every such configuration",
        checks(
            (
                "unit/config",
                "a_host_open_to_others_needs_a_password_or_a_key what_protects_an_open_port_must_not_be_guessable a_loopback_host_needs_neither",
            ),
        ),
    ),
    Probe(
        15,
        _IDENTITY,
        "requests of the same machine, or through its proxy, are trusted",
        "the status with forged headers of proxies, and the modes of files with secrets",
        checks(
            (
                "flows/web_attacks",
                "what_proxies_tell_makes_nobody_somebody what_proxies_tell_makes_nobody_more_than_they_are",
            ),
            ("files/backup", "it_is_for_this_user_only"),
            (
                "unit/process_secrets",
                "the_key_is_made_when_something_is_first_sealed_and_is_private a_link_in_the_place_of_the_key_is_not_followed",
            ),
        ),
    ),
    Probe(
        16,
        _IDENTITY,
        "keys, passwords and codes are guessed over a way that does not count attempts",
        "status 429, the audit entries of the attempts, and codes that are void after few attempts",
        checks(
            ("flows/web_guessing", ""),
            (
                "flows/web_passwords",
                "ten_thousand_guesses_are_twenty_an_hour spraying_over_accounts_is_twenty_an_hour_for_each_address",
            ),
            ("flows/web_logins", "guessing_is_slowed_down"),
            ("flows/pairing", "after_a_few_wrong_codes_none_is_looked_at"),
            ("flows/identities", "codes_cannot_be_guessed"),
        ),
    ),
    Probe(
        17,
        _PAGE,
        "a link to the dashboard leads to another server",
        "the address of the browser after the login, and the status of such paths",
        checks(
            ("browser/login", "no_address_leads_to_another_site"),
            ("flows/web_seams", "a_slash_too_many_is_not_sent_elsewhere"),
        ),
    ),
    Probe(
        18,
        _PAGE,
        "a page of another site sends requests or opens a socket with the cookie",
        "status 403, refused upgrades, and no stored message",
        checks(
            (
                "flows/web_access",
                "another_site_changes_nothing a_form_of_another_site_is_no_message a_cookie_must_say_where_it_comes_from sockets_of_other_sites_are_refused_before_the_upgrade",
            ),
            (
                "flows/web_attacks",
                "no_page_of_another_site_changes_anything no_page_of_another_site_logs_anybody_in no_socket_opens_for_another_site",
            ),
        ),
    ),
    Probe(
        19,
        _PAGE,
        "a name of an attacker resolves to the daemon (DNS rebinding)",
        "the status of each route, the socket and the MCP server for unknown hosts",
        checks(
            (
                "flows/web_access",
                "strange_hosts_are_not_answered sockets_for_strange_hosts_are_refused_before_the_upgrade",
            ),
            ("flows/web_attacks", "a_strange_host_gets_no_answer_to_anything"),
            ("flows/mcp_server", "nobody_passes_without_a_key_or_from_another_site"),
        ),
    ),
    Probe(
        20,
        _PAGE,
        "texts of models and people run as scripts in the dashboard",
        "no script, element or request of a payload in Chromium on any page",
        checks(("browser/injection", "")),
    ),
    Probe(
        21,
        _PAGE,
        "images and links of a reply carry data to another server",
        "the text that is shown, the content policy, and the types of downloads",
        checks(
            ("unit/outgoing_links", ""),
            ("flows/reply_links", ""),
            ("flows/web_page", "the_policy_lets_in_nothing_from_elsewhere"),
            ("flows/web_talks", "only_pictures_and_sounds_are_shown"),
        ),
    ),
    Probe(
        22,
        _PAGE,
        "a stream or a socket stays open after the rights have ended",
        "the end of the socket and of the stream, with the reason, and no later event",
        checks(
            ("flows/web_access_end", ""),
            ("flows/web_seams", "who_is_blocked_hears_nothing_more"),
            ("flows/web_run_stream", "who_comes_back_is_told_the_rest_and_nothing_twice"),
        ),
    ),
    Probe(
        23,
        _PAGE,
        "thousands of ranges in one request take the processor",
        "the status, the length of the answer and the duration for 10,000 ranges",
        checks(("probes/own_checks", "thousands_of_ranges_cost_no_more_than_the_file")),
    ),
    Probe(
        24,
        _PAGE,
        "secrets appear in logs, lists, errors or files beside the intended ones",
        "no byte of a planted secret in outputs, and the status of paths out of the folder",
        checks(
            ("unit/process_logs", "a_known_secret_is_in_no_output no_known_secret_survives_anywhere"),
            ("flows/web_settings", "no_secret_is_shown"),
            ("flows/web_logs", "files_that_are_links_or_something_else_are_not_shown"),
            ("flows/web_backups", "only_listed_backups_are_reached"),
            ("flows/web_attacks", "whatever_is_made_of_an_address_opens_nothing"),
            ("wings/provider_hostile", "an_error_that_repeats_the_key_in_any_form_hides_it"),
        ),
    ),
    Probe(
        25,
        _INJECTION,
        "a chat platform fetches a link of the reply for its preview",
        "the requests at the server of the platform, and links that became text",
        checks(
            ("wings/slack_outgoing", "an_answer_goes_into_its_thread_without_previews_or_names"),
            ("wings/telegram_outgoing", "a_topic_a_reply_and_no_preview"),
            ("flows/reply_links", "a_tainted_reply_has_no_image_of_an_unknown_host"),
        ),
    ),
    Probe(
        26,
        _INJECTION,
        "an injected text plants a schedule, a fact or a task for a later turn",
        "questions to a person instead of effects, and the taint of what was stored",
        checks(
            ("flows/taint", ""),
            (
                "flows/tool_schedule",
                "from_a_tainted_talk_a_reminder_is_a_note_and_no_command what_repeats_needs_a_word_where_others_words_are",
            ),
            ("flows/working_alone_attacks", "what_a_run_posted_taints_the_talk_behind_it"),
            ("flows/effect_approvals", "a_tainted_turn_asks_with_the_exact_change_and_a_yes_makes_it"),
            ("memory_attacks/memory_attacks", ""),
        ),
    ),
    Probe(
        27,
        _INJECTION,
        "a scheduled run has more rights than the person who asked for it",
        "the refused calls of runs that reminders and schedules of members begin",
        checks(
            (
                "flows/working_alone_attacks",
                "a_reminder_reaches_no_further_than_who_asked_for_it what_began_by_itself_makes_no_reminder_through_another_agent",
            ),
            ("flows/agent_access", "a_reminder_of_a_member_comes_while_they_may_use_the_agent"),
            ("flows/tool_schedule", "whose_reminder_an_operator_rewrites_acts_for_the_operator"),
        ),
    ),
    Probe(
        28,
        _INJECTION,
        "the body of a web hook becomes an instruction",
        "the prompt that the template makes, its escapes and its taint",
        checks(
            ("unit/templates", ""),
            ("flows/web_webhooks", "the_owners_words_alone_are_no_taint what_is_no_json_is_a_text"),
        ),
    ),
    Probe(
        29,
        _INJECTION,
        "a client invents the history of a conversation",
        "the conversation and the taint of requests with forged replies and system texts",
        checks(
            (
                "flows/web_completions_talk",
                "the_system_text_of_another_key_taints an_answer_that_is_asked_for_again_is_not_built_on_the_first",
            ),
            ("flows/client_tools", "results_belong_to_the_key_that_asked"),
            ("unit/outgoing_guard", "a_forwarded_text_that_imitates_a_client_program_is_not_the_persons_own"),
        ),
    ),
    Probe(
        30,
        _INJECTION,
        "a tool server changes or imitates tools",
        "the descriptions that a model gets after a change, and the question that shows it",
        checks(
            ("flows/mcp_pins", ""),
            (
                "flows/mcp_client",
                "what_a_server_says_of_itself_counts_only_when_trusted an_endless_list_is_read_to_a_bound",
            ),
            ("unit/tool_policy", "an_offer_stands_in_one_order_and_the_first_source_wins long_names_stay_different"),
        ),
    ),
    Probe(
        31,
        _INJECTION,
        "another thing runs than the one that a person has approved",
        "the call that ran, and the file that it read, after an exchange or an edit",
        checks(
            (
                "flows/approvals",
                "edited_arguments_are_what_runs edited_arguments_that_do_not_fit_do_not_run an_answer_counts_for_the_call_that_was_asked_about_and_no_other",
            ),
            ("flows/effect_approvals", "the_yes_counts_only_for_what_was_shown"),
            ("unit/workspace", "a_folder_that_turns_into_a_link_leads_nowhere"),
            ("flows/skill_registry", "content_that_changes_after_the_trust_is_refused"),
        ),
    ),
    Probe(
        32,
        _INJECTION,
        "a question is answered by somebody without the right, or twice",
        "the state of the question after each answer: by role, button, word, forward and deadline",
        checks(
            ("flows/approvals", "who_asked_may_not_approve nobody_answers_in_time"),
            (
                "flows/effect_approvals",
                "only_who_approves_tools_answers an_answer_counts_once rights_count_as_they_are_when_the_answer_comes",
            ),
            (
                "flows/working_alone_attacks",
                "words_that_are_only_passed_on_answer_no_question a_yes_from_before_the_question_is_not_about_it",
            ),
            ("flows/platform_attacks", "only_owners_press_what_a_tool_asks odd_numbers_of_buttons_do_nothing"),
            ("flows/web_workflow_runs", "who_may_not_answer_is_told_and_unreadable_answers_leave_it_paused"),
        ),
    ),
    Probe(
        33,
        _INJECTION,
        "a person sees other characters than those that run",
        "the escapes of invisible and reordering characters in questions and on terminals",
        checks(
            ("unit/presentable", ""),
            ("unit/seen_letters", ""),
            ("flows/approvals", "nothing_hides_in_a_question the_name_of_the_asker_forges_nothing"),
            ("wings/console", "a_reply_does_not_command_the_terminal"),
        ),
    ),
    Probe(
        34,
        _INJECTION,
        "one injected document reads secrets and sends them",
        "the requests at the servers of an attacker while a model obeys every instruction",
        checks(
            ("outgoing/outgoing_campaign", "an_obedient_model_sends_nothing the_campaign_sees_what_leaves"),
            ("flows/tool_destinations", ""),
            ("flows/compromised_model", ""),
        ),
    ),
    Probe(
        35,
        _INJECTION,
        "names and contents of files act as instructions or commands",
        "stored names, extracted texts and exported lines of hostile files",
        checks(
            ("wings/media", "files_have_harmless_names what_cannot_be_read_says_why"),
            ("flows/web_seams", "nobody_writes_the_lines_of_others_into_an_export"),
            ("flows/knowledge", "poisoned_documents_move_nothing documents_taint_unless_an_owner_trusts_them"),
        ),
    ),
    Probe(
        36,
        _INJECTION,
        "messages that the agent only reads along command it",
        "the prompt with messages, names and edits of strangers",
        checks(
            (
                "flows/inbox",
                "what_was_read_along_is_in_the_next_prompt_as_data reading_along_is_bounded_and_not_everywhere",
            ),
            ("flows/platform_attacks", "an_edit_makes_nothing_longer_that_is_read_along"),
            ("unit/quotations", "no_line_of_a_quotation_looks_like_other_text"),
        ),
    ),
)
