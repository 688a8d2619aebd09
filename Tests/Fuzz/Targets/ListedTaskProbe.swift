import FoundationEssentials
import TestSupport
import TransferModel
import TransferRPC

/// Stored text that is sent without decoding: a page of a listing has the same members as a task that is decoded and
/// encoded, and contains no spec and no answer that hides something. Input: the text of a spec, then a line break and
/// the text of an answer.
struct ListedTaskProbe: Probe {
    /// Returns the members of the spec's text if the text may be sent as it is.
    var shareable: @Sendable (String) -> JSONMembers?

    static let target = FuzzTarget(
        "listed-task",
        words: TaskSpec.shape.names.map { "\"\($0)\":" }
            + ResponseInfo.shape.names.map { "\"\($0)\":" }
            + [
                "\"https://u:p@h/\"", "\"Set-Cookie\"", "\\u0040", "\\u0061", "\n", "{}", "[]", "[[\"A\",\"b\"]]",
                "null",
            ],
        ListedTaskProbe { TaskSpec.shareable($0) },
        // User information in a URL is ignored.
        planted: ListedTaskProbe { text in TaskSpec.shareable(text.filter { $0 != "@" }) })

    private static let base = TaskRecord(
        id: TaskID(1), session: SessionKey(owner: UserID(1000), identifier: "s"), spec: TaskSpec(),
        status: TaskStatus(state: .queued, createdAt: Timestamp(milliseconds: 0)), host: "https://example.org:443",
        position: 1)

    func check(_ input: [UInt8]) throws {
        let parts = input.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false)
        // The store has the text that the daemon encoded after it had decoded the input.
        guard let first = parts.first, let spec = try? JSONCoding.decode(TaskSpec.self, from: Array(first)),
            let members = shareable(stored(spec))
        else { return }
        var record = Self.base
        record.spec = spec
        let answer = parts.count > 1 ? try? JSONCoding.decode(ResponseInfo.self, from: Array(parts[1])) : nil
        let shared = answer.flatMap { ResponseInfo.Shareable(stored($0)) }
        if shared != nil { record.response = answer }
        try compare(record, members, shared)
    }

    private func stored(_ value: some WireValue) -> String {
        String(decoding: JSONCoding.encode(value), as: UTF8.self)
    }

    private func compare(
        _ record: TaskRecord, _ members: JSONMembers, _ response: ResponseInfo.Shareable?
    ) throws {
        var bare = record
        bare.spec = TaskSpec()
        bare.spec.kind = record.spec.kind
        bare.response = nil
        var text = JSONWriter()
        ListedTaskView(bare, members: members, response: response).write(to: &text)
        let spliced = try value(text.bytes)
        let written = try value(JSONCoding.encode(TaskView(record)))
        try hold(
            spliced == written,
            "the page says \(shown("\(spliced)")), the task \(shown("\(written)"))")
    }

    private func value(_ text: [UInt8]) throws -> JSONValue {
        guard let value = try? ForeignJSON.value(text) else {
            throw Violation(description: "no JSON: \(shown(String(decoding: text, as: UTF8.self)))")
        }
        return value
    }
}
