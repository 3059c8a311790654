//! The bytes of requests, and the decoding of answers.

use std::time::Duration;

use dotnet_diagnostics_client::{
    BufferMode, CollectTracingVersion, Command, CoreDump, DumpKind, Error, EventFilter, Guid, HResult,
    InvalidRequest, Keywords, Level, Operation, PerfMap, Provider, Rundown, SessionConfig, SessionId,
};
use tokio::io::AsyncReadExt;

use crate::scripted_runtime::{UNKNOWN_COMMAND, error, frame, ok, scripted, text};

const COOKIE: Guid = Guid::from_u128(0x00112233_4455_6677_8899_aabbccddeeff);

fn process_info_1() -> Vec<u8> {
    [&4711u64.to_le_bytes()[..], &COOKIE.to_bytes(), &text("dotnet app.dll"), &text("Linux"), &text("x64")]
        .concat()
}

#[test]
fn process_info_reads_every_field_of_the_newest_variant() {
    let version = 1u32.to_le_bytes();
    let newer = [text("app"), text("10.0.12"), text("linux-x64")].concat();
    let answer = ok(&[&version[..], &process_info_1(), &newer].concat());
    let requests = scripted(vec![answer], async |client| {
        let info = client.process_info().await.unwrap();
        assert_eq!((info.pid, info.cookie), (4711, COOKIE));
        assert_eq!(info.command_line, "dotnet app.dll");
        assert_eq!((info.os.as_str(), info.arch.as_str()), ("Linux", "x64"));
        assert_eq!(info.entry_assembly.as_deref(), Some("app"));
        assert_eq!(info.clr_version.as_deref(), Some("10.0.12"));
        assert_eq!(info.rid.as_deref(), Some("linux-x64"));
    });
    assert_eq!(requests, [frame(4, 8, &[])]);
}

#[test]
fn process_info_steps_down_for_old_runtimes() {
    let unknown = || error(UNKNOWN_COMMAND);
    let requests = scripted(vec![unknown(), unknown(), ok(&process_info_1())], async |client| {
        let info = client.process_info().await.unwrap();
        assert_eq!((info.pid, info.entry_assembly, info.clr_version, info.rid), (4711, None, None, None));
    });
    assert_eq!(requests, [frame(4, 8, &[]), frame(4, 4, &[]), frame(4, 0, &[])]);

    scripted(vec![unknown(), unknown(), unknown()], async |client| {
        assert!(client.process_info().await.unwrap_err().is_unknown_command());
    });
}

#[test]
fn any_other_refusal_ends_the_stepping_down() {
    let requests = scripted(vec![error(0x8000_4005); 2], async |client| {
        let refused = client.process_info().await.unwrap_err();
        assert_eq!(refused.hresult(), Some(HResult::FAIL));
    });
    assert_eq!(requests.len(), 1);
}

#[test]
fn the_environment_follows_its_reply() {
    let block = [&2u32.to_le_bytes()[..], &text("A=b=c"), &text("=C:=x")].concat();
    let length = u32::try_from(block.len()).unwrap().to_le_bytes();
    let reply = ok(&[&length[..], &[0, 0]].concat());
    let requests = scripted(vec![[reply, block].concat()], async |client| {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(client.environment().await.unwrap(), [pair("A", "b=c"), pair("=C:", "x")]);
    });
    assert_eq!(requests, [frame(4, 2, &[])]);
}

/// The request before a removal.
fn probe() -> Vec<u8> {
    let path = text("/dev/null/<none>");
    frame(3, 1, &[&[0; 20][..], &path, &[0; 4]].concat())
}

#[test]
fn a_variable_is_set_emptied_and_removed() {
    let fine = || ok(&[0; 4]);
    let requests = scripted(vec![fine(), fine(), error(0x8007_007e), fine()], async |client| {
        client.set_environment_variable("N", "é").await.unwrap();
        client.set_environment_variable("N", "").await.unwrap();
        client.remove_environment_variable("N").await.unwrap();
    });
    let set = |value| frame(4, 3, &[text("N"), value].concat());
    assert_eq!(requests, [set(text("é")), set(text("")), probe(), set(vec![0; 4])]);
}

#[test]
fn a_removal_that_would_crash_the_target_is_not_sent() {
    let requests = scripted(vec![error(0x8013_1515)], async |client| {
        let refused = client.remove_environment_variable("N").await.unwrap_err();
        let Error::InvalidRequest { source, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(source, InvalidRequest::RemovalWouldCrash { name: "N".into() });
    });
    assert_eq!(requests, [probe()]);
}

#[test]
fn a_failure_inside_an_ok_reply_is_a_failure() {
    let code = 0x8007_00cbu32.to_le_bytes();
    scripted(vec![error(0x8013_135b), ok(&code)], async |client| {
        let refused = client.remove_environment_variable("N").await.unwrap_err();
        assert_eq!(refused.hresult(), Some(HResult::ENVIRONMENT_VARIABLE_NOT_FOUND));
    });
}

#[test]
fn attaching_sends_path_and_data_with_their_exact_lengths() {
    let requests = scripted(vec![ok(&[0; 4]), error(0x8013_136a)], async |client| {
        client.attach_profiler(Duration::from_secs(3), COOKIE, "/p.so", b"data").await.unwrap();
        let refused = client.attach_profiler(Duration::ZERO, COOKIE, "/p.so", b"").await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "AttachProfiler was refused by the runtime: 0x8013136A (another profiler is already active)"
        );
    });
    let request = |timeout: u32, data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_le_bytes();
        let path = text("/p.so");
        frame(3, 1, &[&timeout.to_le_bytes()[..], &COOKIE.to_bytes(), &path, &length, data].concat())
    };
    assert_eq!(requests, [request(3000, b"data"), request(0, b"")]);
}

#[test]
fn a_startup_profiler_is_tried_until_the_runtime_has_paused() {
    let not_yet = || error(0x8007_0057);
    let requests = scripted(vec![not_yet(), not_yet(), ok(&[0; 4])], async |client| {
        client.set_startup_profiler(COOKIE, "/p.so").await.unwrap();
    });
    let request = frame(3, 2, &[&COOKIE.to_bytes()[..], &text("/p.so")].concat());
    assert_eq!(requests, vec![request; 3]);
}

fn session() -> SessionConfig {
    let provider = Provider::new("P", Level::Verbose).keywords(Keywords::GC).arguments("a=b");
    SessionConfig::new([provider.event_filter(EventFilter::Except(vec![29]))])
        .rundown(Rundown::Keyword(Keywords::GC))
}

#[test]
fn a_session_is_a_stream_behind_the_reply() {
    let reply = ok(&0x7f00_0000_1234u64.to_le_bytes());
    let answer = [&reply, &b"Nettrace and so on"[..]].concat();
    let requests = scripted(vec![answer], async |client| {
        let mut session = client.collect_tracing(&session()).await.unwrap();
        assert_eq!(session.id(), SessionId(0x7f00_0000_1234));
        assert_eq!(session.version(), CollectTracingVersion::V5);
        assert!(session.honours_event_filters() && session.honours_rundown_keyword());
        let mut stream = Vec::new();
        session.read_to_end(&mut stream).await.unwrap();
        assert_eq!(stream, b"Nettrace and so on");
    });
    let filter = [&[0, 1, 0, 0, 0][..], &29u32.to_le_bytes()].concat();
    let expected = [
        &0u32.to_le_bytes()[..],
        &256u32.to_le_bytes(),
        &1u32.to_le_bytes(),
        &1u64.to_le_bytes(),
        &[0],
        &1u32.to_le_bytes(),
        &1u64.to_le_bytes(),
        &5u32.to_le_bytes(),
        &text("P"),
        &text("a=b"),
        &filter,
    ];
    assert_eq!(requests, [frame(2, 6, &expected.concat())]);
}

#[test]
fn a_session_on_an_old_runtime_says_what_it_could_not_ask_for() {
    let unknown = || error(UNKNOWN_COMMAND);
    let answers = vec![unknown(), unknown(), unknown(), ok(&1u64.to_le_bytes())];
    let requests = scripted(answers, async |client| {
        let accepted = client.collect_tracing(&session()).await.unwrap();
        assert_eq!(accepted.version().number(), 2);
        assert!(!accepted.honours_event_filters());
        assert!(!accepted.honours_rundown_keyword());
        assert!(!accepted.honours_stackwalk());
    });
    let ids: Vec<u8> = requests.iter().map(|r| r[17]).collect();
    assert_eq!(ids, [6, 5, 4, 3]);
}

#[test]
fn only_a_session_that_blocks_asks_for_the_newest_variant() {
    let session = session().buffer_mode(BufferMode::Block);
    let answers = vec![error(UNKNOWN_COMMAND), ok(&1u64.to_le_bytes())];
    let requests = scripted(answers, async |client| {
        let accepted = client.collect_tracing(&session).await.unwrap();
        assert_eq!((accepted.version().number(), accepted.honours_buffer_mode()), (5, false));
    });
    let ids: Vec<u8> = requests.iter().map(|r| r[17]).collect();
    assert_eq!(ids, [7, 6]);
    assert!(requests[0].ends_with(&[1, 0, 0, 0]));
}

#[test]
fn stopping_names_the_session() {
    let id = 0x7f00_0000_1234u64.to_le_bytes();
    let requests = scripted(vec![ok(&id)], async |client| {
        client.stop_tracing(SessionId(0x7f00_0000_1234)).await.unwrap();
    });
    assert_eq!(requests, [frame(2, 1, &id)]);
}

#[test]
fn a_dump_has_kind_and_flags() {
    let dump = CoreDump::new("/d").kind(DumpKind::Heap).log(true).log_verbose(true).crash_report(true);
    let unknown = || error(UNKNOWN_COMMAND);
    let fine = || ok(&[0; 4]);
    let requests = scripted(vec![fine(), unknown(), fine(), unknown(), unknown(), fine()], async |client| {
        for _ in 0..3 {
            client.write_core_dump(&dump).await.unwrap();
        }
    });
    let request = |id: u8, flags: u32| {
        frame(1, id, &[text("/d"), 2u32.to_le_bytes().to_vec(), flags.to_le_bytes().to_vec()].concat())
    };
    // The oldest variant has a flag for the log only.
    let expected = [request(3, 7), request(3, 7), request(2, 7), request(3, 7), request(2, 7), request(1, 1)];
    assert_eq!(requests, expected);
}

#[test]
fn the_text_about_a_failed_dump_is_told() {
    let why = "cannot write\u{1b}[31m";
    let answer = frame(0xff, 0xff, &[0x8000_4005u32.to_le_bytes().to_vec(), text(why)].concat());
    scripted(vec![answer], async |client| {
        let refused = client.write_core_dump(&CoreDump::new("/d")).await.unwrap_err();
        let said = refused.to_string();
        assert!(
            said.contains("WriteCoreDump3") && said.contains("cannot write") && !said.contains('\u{1b}'),
            "{said}"
        );
        let Error::Runtime { text, code, .. } = refused else { panic!("{refused:?}") };
        assert_eq!((text.as_deref(), code), (Some(why), HResult::FAIL));
    });
}

#[test]
fn perf_maps_are_asked_for_by_kind() {
    let not_there = || error(0x8007_007e);
    let fine = || ok(&[0; 4]);
    let requests = scripted(vec![not_there(), fine(), not_there(), fine(), fine()], async |client| {
        client.enable_perf_map(PerfMap::All).await.unwrap();
        client.enable_perf_map(PerfMap::PerfMap).await.unwrap();
        client.disable_perf_map().await.unwrap();
    });
    let enable = |kind: u32| frame(4, 5, &kind.to_le_bytes());
    assert_eq!(requests, [probe(), enable(1), probe(), enable(3), frame(4, 6, &[])]);
}

#[test]
fn a_perf_map_that_could_crash_the_target_is_not_asked_for() {
    let requests = scripted(vec![error(0x8013_135b)], async |client| {
        let refused = client.enable_perf_map(PerfMap::All).await.unwrap_err();
        let Error::InvalidRequest { source, .. } = refused else { panic!("{refused:?}") };
        assert_eq!(source, InvalidRequest::Suspended);
    });
    assert_eq!(requests, [probe()]);
}

#[test]
fn a_startup_hook_is_a_path() {
    let requests = scripted(vec![ok(&[0; 4])], async |client| {
        client.apply_startup_hook("/hook.dll").await.unwrap();
    });
    assert_eq!(requests, [frame(4, 7, &text("/hook.dll"))]);
}

/// Every command gives the code of an error reply, and names itself.
#[test]
fn each_error_code_of_each_command_is_told() {
    const CODES: [u32; 12] = [
        0x8000_4001,
        0x8000_4005,
        0x8000_00cb,
        0x8007_0005,
        0x8007_000e,
        0x8007_0057,
        0x8007_007e,
        0x8013_135b,
        0x8013_1384,
        0x8013_1386,
        0x8013_1387,
        0x8013_1515,
    ];
    for code in CODES {
        // StartupProfiler repeats this answer for a second, see the tests of failures.
        let startup = code != 0x8007_0057;
        let answers = vec![error(code); 9 + usize::from(startup)];
        scripted(answers, async |client| {
            let guid = Guid::default();
            let mut results = vec![
                (client.process_info().await.map(drop), Command::PROCESS_INFO_3),
                (client.resume_runtime().await, Command::RESUME_RUNTIME),
                (client.environment().await.map(drop), Command::GET_PROCESS_ENVIRONMENT),
                (client.set_environment_variable("N", "v").await, Command::SET_ENVIRONMENT_VARIABLE),
                (client.disable_perf_map().await, Command::DISABLE_PERF_MAP),
                (client.apply_startup_hook("/h").await, Command::APPLY_STARTUP_HOOK),
                (client.write_core_dump(&CoreDump::new("/d")).await, Command::WRITE_CORE_DUMP_3),
                (client.attach_profiler(Duration::ZERO, guid, "/p", b"").await, Command::ATTACH_PROFILER),
                (client.collect_tracing(&session()).await.map(drop), Command::COLLECT_TRACING_5),
            ];
            if startup {
                results.push((client.set_startup_profiler(guid, "/p").await, Command::STARTUP_PROFILER));
            }
            for (result, command) in results {
                let Err(Error::Runtime { operation, code: told, .. }) = result else {
                    panic!("{command}: {result:?}")
                };
                assert_eq!((operation, told), (Operation::Command(command), HResult(code)));
            }
        });
    }
}
