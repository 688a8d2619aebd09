import TransferModel
import TransferRPC
import TransferStore

/// The events that a subscription or a listing covers.
package struct EventFilter: Hashable, Sendable {
    package var owner: OwnerScope
    /// Identifiers of sessions.
    package var sessions: Set<String>?
    package var tasks: Set<TaskID>?
    package var types: Set<EventType>?

    package init(
        owner: OwnerScope, sessions: [String]? = nil, tasks: [TaskID]? = nil, types: [EventType]? = nil
    ) {
        self.owner = owner
        self.sessions = sessions.map { Set($0) }
        self.tasks = tasks.map { Set($0) }
        self.types = types.map { Set($0) }
    }

    package func matches(_ event: EventRecord) -> Bool {
        owner.includes(event.session.owner) && types?.contains(event.type) ?? true
            && sessions?.contains(event.session.identifier) ?? true
            && tasks.map { tasks in event.task.map { tasks.contains($0) } ?? false } ?? true
    }

    /// The same filter as a query of the store.
    func query(after: SequenceNumber, limit: Int) -> EventQuery {
        var query = EventQuery(after: after, owner: owner.owner, limit: limit)
        query.sessions = sessions
        query.tasks = tasks
        query.types = types
        return query
    }
}
