import TransferModel
import TransferRPC
import TransferStore

/// The event methods.
enum EventHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        let feed = services.feed
        table.add(replying: Methods.subscribe) { parameters, context in
            let request = try Self.request(parameters, context)
            let ticket = try await feed.subscribe(request, for: context.connection)
            let place = Subscribed(subscription: ticket.name, after: ticket.after, head: ticket.head)
            return Reply(place) { feed.begin(ticket) }
        }
        table.add(Methods.unsubscribe) { parameters, context in
            try feed.unsubscribe(parameters.subscription, of: context.connection.id)
            return Nothing()
        }
        table.add(Methods.acknowledgeEvents) { parameters, context in
            try SessionHandlers.check(name: parameters.subscriber, field: "subscriber")
            try await feed.log.acknowledge(
                parameters.subscriber, owner: context.peer.uid, parameters.sequence)
            return Nothing()
        }
        table.add(Methods.forgetSubscriber) { parameters, context in
            guard try await feed.log.forget(parameters.subscriber, owner: context.peer.uid) else {
                throw Self.unknown(parameters.subscriber)
            }
            return Nothing()
        }
        table.add(Methods.listEvents) { parameters, context in
            try await Self.list(parameters, context, services)
        }
    }

    private static func list(
        _ parameters: ListEvents, _ context: RequestContext, _ services: Services
    ) async throws -> ListedEvents {
        try checkLength(parameters.sessions, parameters.tasks)
        let filter = EventFilter(
            owner: try context.scope(parameters.owner), sessions: parameters.sessions, tasks: parameters.tasks,
            types: parameters.types)
        let limit = try TaskHandlers.pageSize(
            parameters.limit, default: ListEvents.defaultLimit, largest: ListEvents.largestLimit)
        let after: SequenceNumber
        switch parameters.after {
        case .after(let sequence): after = sequence
        case .start: after = .zero
        case .now: after = try await services.feed.log.head()
        }
        var query = filter.query(after: after, limit: limit)
        query.bytes = Bounds.pageBytes
        let page = try await services.durable.store.eventPage(query)
        try after.requireUpTo(page.head)
        return ListedEvents(
            events: page.events.map { EventView($0) }, nextAfter: page.isCut ? page.events.last?.sequence : nil,
            first: page.first, head: page.head)
    }

    private static func request(
        _ parameters: Subscribe, _ context: RequestContext
    ) throws(TransferError) -> SubscriptionRequest {
        if let name = parameters.subscriber { try SessionHandlers.check(name: name, field: "subscriber") }
        if let interval = parameters.progressInterval, interval != 0,
            !Bounds.progressInterval.contains(interval.rawValue)
        {
            throw TransferError.bad(
                "progressInterval", "\(Bounds.words(Bounds.progressInterval)) seconds, or 0 for no progress.")
        }
        try checkLength(parameters.sessions, parameters.tasks)
        let filter = EventFilter(
            owner: try context.scope(parameters.owner), sessions: parameters.sessions, tasks: parameters.tasks,
            types: parameters.types)
        return SubscriptionRequest(
            after: parameters.after, subscriber: parameters.subscriber, filter: filter, peer: context.peer.uid,
            progressInterval: parameters.progressInterval)
    }

    /// The most sessions or tasks that a filter may name, because each event is compared with all of them.
    private static let longestFilter = Bounds.ids

    private static func checkLength(_ sessions: [String]?, _ tasks: [TaskID]?) throws(TransferError) {
        for (field, count) in [("sessions", sessions?.count ?? 0), ("tasks", tasks?.count ?? 0)]
        where count > longestFilter {
            throw TransferError.bad(field, "at most \(longestFilter); leave it out to get all.", .tooLarge)
        }
    }

    private static func unknown(_ subscriber: String) -> TransferError {
        TransferError.bad("subscriber", "there is none named \"\(subscriber)\"; it is made by events.subscribe.")
    }
}
