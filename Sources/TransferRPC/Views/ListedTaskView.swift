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
        _ record: TaskRecord, members: JSONMembers, response: ResponseInfo.Shareable?, live: TaskView.Live? = nil
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
}

extension ListedTaskView: Encodable {
    package func encode(to encoder: any Encoder) throws {
        guard let members else { return try view.encode(to: encoder) }
        var fields = FieldWriter(encoder, TaskView.StatusKeys.self)
        if !fields.splice(members) { try members.value(TaskSpec.self).encode(to: encoder) }
        try view.writeStatus(&fields, response: response)
    }
}

/// The answer to `task.list`, written without a `ListTasks.Result`.
package struct ListedPage: Encodable, Sendable {
    private let tasks: [ListedTaskView]
    private let total: Int?
    private let nextCursor: String?

    package init(tasks: [ListedTaskView], total: Int?, nextCursor: String?) {
        self.tasks = tasks
        self.total = total
        self.nextCursor = nextCursor
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = FieldWriter(encoder, ListTasks.Result.CodingKeys.self)
        try fields.write(tasks, .tasks)
        try fields.write(total.map { Int64($0) }, .total)
        try fields.write(nextCursor, .nextCursor)
    }
}
