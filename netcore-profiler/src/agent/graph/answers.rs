//! Answers to questions about names, while the program runs.

use core::sync::atomic::Ordering::SeqCst;

use crate::agent::names::queue::Request;
use crate::agent::names::resolver::BYTES;
use crate::agent::profiler::Profiler;
use crate::info::Info;
use crate::metadata::Metadata;
use crate::sys::Lease;
use crate::wire::graph::{Ask, FieldName, kind, read, write};
use crate::wire::{MAX_TEXT_UNITS, Payload, Text};

/// Kinds of tokens (`CorTokenType`).
const TYPE: u32 = 0x02;
const METHOD: u32 = 0x06;
/// How many fields of a type are named.
const MAX_FIELDS: usize = 512;
const UNITS: usize = MAX_TEXT_UNITS + 2;

impl Profiler {
    /// Answers until the connection is closed.
    pub(super) fn answer(&self, connection: Lease) {
        loop {
            let mut bytes = [0; Ask::BYTES];
            if self.receive_all(connection, &mut bytes, None).is_none() {
                return;
            }
            let (Ok(ask), Some(info)) = (read::<Ask>(&bytes), self.info_for_graph()) else { return };
            let answered = match ask.kind {
                Ask::NAMES => self.answer_names(info, connection, ask),
                Ask::STATICS => self.answer_statics(info, connection),
                Ask::STATICS_OF_CLASS => self.answer_statics_of(info, connection, ask),
                _ => self.reply(connection, kind::ANSWERED, &[]),
            };
            if !answered {
                return;
            }
        }
    }

    /// Sends the payload of an event as a message.
    pub(super) fn reply_with<'a>(&self, connection: Lease, message: u8, payload: &impl Payload<'a>) -> bool {
        let mut bytes = [0; BYTES];
        let length = payload.encode(&mut bytes).unwrap_or(0);
        self.reply(connection, message, bytes.get(..length).unwrap_or_default())
    }

    fn answer_names(&self, info: Info, connection: Lease, ask: Ask) -> bool {
        let seen = self.graph.seen.load(SeqCst);
        let request = Request { module: ask.module_id as usize, token: ask.token, seen };
        let mut sent = true;
        match ask.token >> 24 {
            TYPE => {
                self.describe_type(info, request, false, |def| {
                    sent = self.reply_with(connection, kind::TYPE_DEF, def);
                });
                sent && self.answer_fields(info, connection, request)
            }
            METHOD => {
                let mut type_token = 0;
                let of_type = |token| type_token = token;
                self.describe_method(info, request, false, of_type, |def| {
                    sent = self.reply_with(connection, kind::METHOD_DEF, def);
                });
                sent
            }
            _ => {
                self.describe_module(info, request, false, |module| {
                    sent = self.reply_with(connection, kind::MODULE, module);
                });
                sent
            }
        }
    }

    fn answer_fields(&self, info: Info, connection: Lease, request: Request) -> bool {
        let (mut all, mut count) = ([0; MAX_FIELDS], 0);
        self.with_module(request, |_| {
            // SAFETY: behind the gate, and not unloaded since the graph was taken.
            if let Ok(metadata) = unsafe { Metadata::of(info, request.module) } {
                count = metadata.fields(request.token, &mut all).len();
            }
        });
        all.get(..count).unwrap_or_default().iter().all(|token| {
            const STATIC: u32 = 0x10;
            let mut name = [0; UNITS];
            let length = self.with_module(request, |_| {
                // SAFETY: as above.
                let metadata = unsafe { Metadata::of(info, request.module) }.ok()?;
                let field = metadata.field(*token, &mut name).ok()?;
                Some(field.length).filter(|_| field.attributes & STATIC == 0)
            });
            let Some(length) = length.flatten() else { return true };
            let field = FieldName {
                module_id: request.module as u64,
                type_token: request.token,
                token: *token,
                name: Text::new(name.get(..length).unwrap_or_default()),
            };
            let mut bytes = [0; 64 + 2 * UNITS];
            let length = write(&field, &mut bytes).unwrap_or(0);
            self.reply(connection, kind::FIELD_NAME, bytes.get(..length).unwrap_or_default())
        })
    }
}
