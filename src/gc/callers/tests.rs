use super::*;

const CORE: u64 = 1;
const APP: u64 = 2;
const AT_NS: u64 = 5_000_000_000;

fn utf16(out: &mut Vec<u8>, text: &str) {
    text.encode_utf16().chain([0]).for_each(|unit| out.extend(unit.to_le_bytes()));
}

/// The payload of MethodLoadVerbose, MethodUnloadVerbose and MethodDCEndVerbose.
fn method(module: u64, start: u64, bytes: u32, of: &str, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for id in [9, module, start] {
        out.extend(id.to_le_bytes());
    }
    for number in [bytes, 0, 0] {
        out.extend(number.to_le_bytes());
    }
    for text in [of, name, "void  ()"] {
        utf16(&mut out, text);
    }
    out
}

fn module(id: u64, path: &str) -> Vec<u8> {
    let mut out = id.to_le_bytes().to_vec();
    out.extend([0; 16]);
    utf16(&mut out, path);
    out
}

fn stack(callers: &mut Callers, addresses: &[u64]) -> StackNumber {
    let bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
    callers.stack(&bytes, 8).expect("there is room")
}

fn named(name: &str) -> Caller {
    Caller::Method(name.into())
}

fn listed(callers: &mut Callers) {
    callers.rundown_event(144, &method(CORE, 0x1000, 0x100, "System.GC", "Collect"), AT_NS);
    callers.rundown_event(144, &method(APP, 0x2000, 0x100, "Program", "Run"), AT_NS);
    // Modules are told after their methods.
    callers.rundown_event(
        154,
        &module(CORE, "/d/shared/Microsoft.NETCore.App/9.0.0/System.Private.CoreLib.dll"),
        AT_NS,
    );
    callers.rundown_event(154, &module(APP, "/app/app.dll"), AT_NS);
    callers.end();
}

#[test]
fn a_stack_gets_its_names_at_the_end() {
    let mut callers = Callers::default();
    let number = stack(&mut callers, &[0x1050, 0x2100]);
    assert_eq!(callers.own(number), Caller::Unknown);
    assert!(!callers.listed());
    listed(&mut callers);
    assert!(callers.listed());
    assert_eq!(callers.own(number), named("Program.Run"), "a call at the very end of a method");
    assert_eq!(callers.outside_gc(number), named("Program.Run"));
    assert_eq!(callers.innermost(number), named("GC.Collect"));
}

#[test]
fn the_first_byte_of_a_method_is_behind_a_call_in_the_one_before() {
    let mut callers = Callers::default();
    let number = stack(&mut callers, &[0x2000]);
    listed(&mut callers);
    assert_eq!(callers.own(number), Caller::Unknown);
}

#[test]
fn code_that_comes_to_an_address_later_is_not_blamed() {
    let mut callers = Callers::default();
    let before = stack(&mut callers, &[0x2080]);
    callers.runtime_event(142, &method(APP, 0x2000, 0x100, "", ""), AT_NS);
    let after = stack(&mut callers, &[0x2080]);
    assert_ne!(before, after);
    listed(&mut callers);
    assert_eq!((callers.own(before), callers.own(after)), (Caller::Unknown, named("Program.Run")));
}

#[test]
fn code_that_goes_may_tell_its_name() {
    let mut callers = Callers::default();
    callers.runtime_event(152, &module(APP, "/app/app.dll"), AT_NS);
    let before = stack(&mut callers, &[0x2080]);
    callers.runtime_event(144, &method(APP, 0x2000, 0x100, "Plugin", "Run"), AT_NS);
    listed(&mut callers);
    assert_eq!(callers.own(before), named("Plugin.Run"));
    let again = stack(&mut callers, &[0x2081]);
    let assembly = |flags: u32| [[0; 24].as_slice(), &flags.to_le_bytes()].concat();
    callers.runtime_event(155, &assembly(0x1), AT_NS);
    assert_eq!(stack(&mut callers, &[0x2081]), again, "the process ends");
    callers.runtime_event(155, &assembly(0x8), AT_NS);
    assert_ne!(stack(&mut callers, &[0x2081]), again, "an assembly went after it");
}

/// Assemblies that go long before the end may make room for other code. Those that go at the end of the process do not.
#[test]
fn an_assembly_that_is_unloaded_takes_the_names_of_earlier_stacks() {
    let assembly = [[0; 24].as_slice(), &8_u32.to_le_bytes()].concat();
    for (unloaded_ns, name) in
        [(&[1][..], Caller::Unknown), (&[AT_NS - 9, AT_NS - 2][..], named("Program.Run"))]
    {
        let mut callers = Callers::default();
        let before = stack(&mut callers, &[0x2080]);
        unloaded_ns.iter().for_each(|at_ns| callers.runtime_event(155, &assembly, *at_ns));
        let after = stack(&mut callers, &[0x2080]);
        listed(&mut callers);
        assert_eq!((callers.own(before), callers.own(after)), (name, named("Program.Run")));
    }
}

/// An event costs no more where many addresses have their names already. Without that, this would take minutes.
#[test]
fn the_same_code_told_again_and_again_takes_no_longer() {
    let mut callers = Callers::default();
    let first = stack(&mut callers, &[0x10_0001]);
    for n in 0..(1 << 17) / 64 {
        let frames: Vec<u8> = (0..64).flat_map(|f| (0x10_0002_u64 + n * 64 + f).to_le_bytes()).collect();
        callers.stack(&frames, 8);
    }
    let all = method(APP, 0x10_0000, u32::MAX, "Program", "Run");
    (0..200_000).for_each(|_| callers.rundown_event(144, &all, AT_NS));
    assert_eq!(callers.innermost(first), named("Program.Run"));
}

#[test]
fn stacks_are_bounded() {
    let info = allocation_counter::measure(|| {
        let mut callers = Callers::default();
        for n in 0..4 * MAX_STACKS as u64 {
            let bytes: Vec<u8> =
                (0..2 * MAX_FRAMES as u64).flat_map(|f| (n * 64 + f).to_le_bytes()).collect();
            callers.stack(&bytes, 8);
        }
        assert!(callers.stacks.len() <= MAX_STACKS);
    });
    assert!(info.bytes_max < 64 << 20, "{} bytes", info.bytes_max);
}
