//! The bytes of requests, and the decoding of answers.

use dotnet_diagnostics_client::{
    CollectCommand, Error, EventFilter, Guid, HResult, InvalidRequest, Provider, Rundown, SessionConfig,
    SessionId,
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
        for value in [Some("é"), Some(""), None] {
            client.set_environment_variable("N", value).await.unwrap();
        }
    });
    let set = |value| frame(4, 3, &[text("N"), value].concat());
    assert_eq!(requests, [set(text("é")), set(text("")), probe(), set(vec![0; 4])]);
}

#[test]
fn a_removal_that_would_crash_the_target_is_not_sent() {
    let requests = scripted(vec![error(0x8013_1515)], async |client| {
        let refused = client.set_environment_variable("N", None).await.unwrap_err();
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
        let refused = client.set_environment_variable("N", None).await.unwrap_err();
        assert_eq!(refused.hresult(), Some(HResult::ENVIRONMENT_VARIABLE_NOT_FOUND));
    });
}

#[test]
fn attaching_sends_path_and_data_with_their_exact_lengths() {
    let requests = scripted(vec![ok(&[0; 4]), error(0x8013_136a)], async |client| {
        client.attach_profiler(3000, COOKIE, "/p.so", b"data").await.unwrap();
        let refused = client.attach_profiler(0, COOKIE, "/p.so", b"").await.unwrap_err();
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
    let mut provider = Provider::new("P", 0x1, 5);
    provider.filter_args = Some("a=b".into());
    provider.event_filter = Some(EventFilter::Except(vec![29]));
    SessionConfig { buffer_mb: 256, providers: vec![provider], rundown: Rundown::Keyword(0x1), stacks: false }
}

#[test]
fn a_session_is_a_stream_behind_the_reply() {
    let reply = ok(&0x7f00_0000_1234u64.to_le_bytes());
    let answer = [&reply, &b"Nettrace and so on"[..]].concat();
    let requests = scripted(vec![answer], async |client| {
        let mut session = client.collect_tracing(&session()).await.unwrap();
        assert_eq!(session.id(), SessionId(0x7f00_0000_1234));
        assert_eq!(session.command(), CollectCommand::V5);
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
        assert_eq!(accepted.command().version(), 2);
        assert!(!accepted.honours_event_filters());
        assert!(!accepted.honours_rundown_keyword());
        assert!(!accepted.honours_stacks());
    });
    let ids: Vec<u8> = requests.iter().map(|r| r[17]).collect();
    assert_eq!(ids, [6, 5, 4, 3]);
}

#[test]
fn stopping_names_the_session() {
    let id = 0x7f00_0000_1234u64.to_le_bytes();
    let requests = scripted(vec![ok(&id)], async |client| {
        client.stop_tracing(SessionId(0x7f00_0000_1234)).await.unwrap();
    });
    assert_eq!(requests, [frame(2, 1, &id)]);
}
