import FoundationEssentials
import TransferModel
import TransferRPC

/// Stored text that goes out as it is: a page of a listing has the same members as a task that is decoded and written, and
/// nothing of a spec or an answer that hides something. Input: a spec's text, and after a line's end an answer's.
struct ListedTaskProbe: Probe {
    /// The spec's text where it may go out as it stands.
    var shareable: @Sendable (String) -> JSONMembers?

    static let target = FuzzTarget(
        "listed-task",
        words: TaskSpec.CodingKeys.allCases.map { "\"\($0.stringValue)\":" }
            + ResponseInfo.CodingKeys.allCases.map { "\"\($0.stringValue)\":" }
            + [
                "\"https://u:p@h/\"", "\"Set-Cookie\"", "\\u0040", "\\u0061", "\n", "{}", "[]", "[[\"A\",\"b\"]]",
                "null",
            ],
        ListedTaskProbe { TaskSpec.shareable($0) },
        // User information in a URL is overlooked.
        planted: ListedTaskProbe { text in TaskSpec.shareable(text.filter { $0 != "@" }) })

    private static let base = TaskRecord(
        id: TaskID(1), session: SessionKey(owner: UserID(1000), identifier: "s"), spec: TaskSpec(),
        status: TaskStatus(state: .queued, createdAt: Timestamp(milliseconds: 0)), host: "https://example.org:443",
        position: 1)

    func check(_ input: [UInt8]) throws {
        let parts = input.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false)
        // The store holds what the daemon wrote of what it had decoded.
        guard let first = parts.first, let spec = try? JSONCoding.decode(TaskSpec.self, from: Array(first)),
            let members = shareable(try stored(spec))
        else { return }
        var record = Self.base
        record.spec = spec
        let answer = parts.count > 1 ? try? JSONCoding.decode(ResponseInfo.self, from: Array(parts[1])) : nil
        let shared = try answer.flatMap { ResponseInfo.Shareable(try stored($0)) }
        if shared != nil { record.response = answer }
        try compare(record, members, shared)
    }

    private func stored(_ value: some Encodable) throws -> String {
        String(decoding: try JSONCoding.encode(value), as: UTF8.self)
    }

    private func compare(
        _ record: TaskRecord, _ members: JSONMembers, _ response: ResponseInfo.Shareable?
    ) throws {
        var bare = record
        bare.spec = TaskSpec()
        bare.spec.kind = record.spec.kind
        bare.response = nil
        let spliced = try value(ListedTaskView(bare, members: members, response: response))
        let written = try value(TaskView(record))
        try hold(
            spliced == written,
            "the page says \(shown("\(spliced)")), the task \(shown("\(written)"))")
    }

    private func value(_ view: some Encodable) throws -> JSONValue {
        let text = try JSONCoding.encode(view)
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text)) else {
            throw Violation(description: "no JSON: \(shown(String(decoding: text, as: UTF8.self)))")
        }
        return value
    }
}
