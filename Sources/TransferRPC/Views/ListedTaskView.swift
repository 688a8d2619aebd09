import TransferModel

/// A task of a page as clients get it: written like `TaskView`, with the stored texts of the spec and the answer if
/// they contain nothing to hide.
package struct ListedTaskView: Sendable {
    private let view: TaskView
    /// The members of the spec, if the view has no spec.
    private let members: JSONMembers?
    private let response: JSONMembers?

    /// - Parameters:
    ///   - record: of its spec only the kind is needed; its answer is not needed.
    ///   - members: its spec.
    ///   - response: its answer, if it has one.
    package init(
        _ record: TaskRecord, members: JSONMembers, response: ResponseInfo.Shareable?, live: LiveFigures? = nil
    ) {
        var record = record
        record.response = response?.figures
        view = TaskView(record, showing: record.$spec, live: live)
        self.members = members
        self.response = response?.members
    }

    package init(_ view: TaskView) {
        self.view = view
        (members, response) = (nil, nil)
    }

    package func write(to text: inout JSONWriter) {
        guard let members else { return view.write(to: &text) }
        text.object { text in
            text.splice(members)
            TaskView.shape.write(view, to: &text, with: response.map { ("response", $0) })
        }
    }

    /// The answer to `task.list`, written without a `ListedTasks`.
    package static func page(_ tasks: [ListedTaskView], total: Int?, nextCursor: String?) -> [UInt8] {
        var text = JSONWriter()
        text.object { text in
            text.name("tasks")
            text.array(tasks) { $0.write(to: &$1) }
            text.member("total", total)
            text.member("nextCursor", nextCursor)
        }
        return text.bytes
    }
}
