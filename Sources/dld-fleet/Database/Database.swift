import CLinux
import FleetDatabase
import Glibc

/// An SQL text of the program's own source: literals and their sums. No value of a run can become part of one.
struct SQL: ExpressibleByStringLiteral, Sendable {
    fileprivate let text: String

    init(stringLiteral text: StaticString) { self.text = "\(text)" }

    private init(text: String) { self.text = text }

    /// A file of the schema.
    init(_ file: SchemaFile) { text = file.text }

    static func + (first: SQL, second: SQL) -> SQL { SQL(text: first.text + second.text) }
}

/// Wakes a thread that waits in `Database.notifications`; from any thread, and any number of times (eventfd(2)).
final class DatabaseWaker: Sendable {
    fileprivate let descriptor: Int32

    init() throws(DatabaseError) {
        descriptor = dld_eventfd_create()
        guard descriptor >= 0 else { throw DatabaseError(.other, "eventfd: \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    func wake() { dld_eventfd_signal(descriptor) }
}

/// One connection to PostgreSQL, for one thread at a time; its calls block that thread, but never for ever.
///
/// - Connecting: `connect_timeout`, at most 10 s and a third of the lease for each address. Names are resolved under
///   resolv.conf(5)'s limits.
/// - A statement: the server gives up after 10 s, and this side 5 s later, or after a lease if that is less. Sending and
///   reading never block (poll(2) with a deadline), so that holds for a peer that is dead too.
/// - Between statements: TCP keepalives and `TCP_USER_TIMEOUT` find a dead peer within five sixths of a lease, and
///   `notifications` throws.
///
/// After a lost connection `isOpen` is false and every call throws; make another.
final class Database {
    struct Notification: Hashable, Sendable {
        let channel: String
        let payload: String
    }

    private let connection: OpaquePointer
    private let waker: DatabaseWaker?
    private(set) var isOpen = true
    /// How long a statement may take until the connection counts as lost.
    private var limit: Duration

    /// - Throws: `noConnection`, or `other` if the server is older than PostgreSQL 13.
    init(
        _ string: ConnectionString, lease: Duration = .seconds(60), waker: DatabaseWaker? = nil
    ) throws(DatabaseError) {
        let seconds = max(1, Int(lease.components.seconds))
        limit = min(.seconds(15), max(.seconds(1), lease))
        self.waker = waker
        var options = string.options
        let patience = min(10, max(2, seconds / 3))
        let wanted = options["connect_timeout"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        let own: [String: String] = [
            "connect_timeout": String(min(patience, wanted ?? patience)), "client_encoding": "UTF8", "keepalives": "1",
            "keepalives_idle": String(max(1, seconds / 3)), "keepalives_interval": String(max(1, seconds / 6)),
            "keepalives_count": "3", "tcp_user_timeout": String(max(1000, seconds * 1000 / 6 * 5)),
        ]
        options.merge(own) { $1 }
        options["fallback_application_name"] = options["fallback_application_name"] ?? "dld-fleet"
        guard let made = Self.connect(options) else { throw DatabaseError(.noConnection, "There is no memory.") }
        connection = made
        guard PQstatus(made) == CONNECTION_OK else {
            let reason = DatabaseError.line(String(cString: PQerrorMessage(made)))
            PQfinish(made)
            isOpen = false
            throw DatabaseError(.noConnection, reason)
        }
        fleet_hush(made)
        PQsetnonblocking(made, 1)
        let version = PQserverVersion(made)
        guard version >= 130_000 else {
            let text = "PostgreSQL 13 or newer is needed, but the server has version \(version / 10000)."
            close()
            throw DatabaseError(.other, text)
        }
        // Not startup parameters, which poolers refuse.
        try script("SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'")
    }

    deinit { close() }

    /// Ends the connection; also done when the last reference goes.
    func close() {
        if isOpen { PQfinish(connection) }
        isOpen = false
    }

    private static func connect(_ options: [String: String]) -> OpaquePointer? {
        var texts: [UnsafeMutablePointer<CChar>?] = []
        defer { texts.forEach { free($0) } }
        func list(_ words: [String]) -> [UnsafePointer<CChar>?] {
            words.map { word in
                let copy = strdup(word)
                texts.append(copy)
                return copy.map { UnsafePointer($0) }
            } + [nil]
        }
        let pairs = options.sorted { $0.key < $1.key }
        return PQconnectdbParams(list(pairs.map(\.key)), list(pairs.map(\.value)), 0)
    }

    // MARK: Statements

    /// Runs one statement with parameters (PQexecParams).
    func rows(_ sql: SQL, _ parameters: [SQLParameter] = []) throws(DatabaseError) -> Rows {
        let isText = parameters.allSatisfy { $0.text?.utf8.contains(0) != true }
        // invalid_text_representation, as the server would say if it could get a NUL
        guard isText else { throw DatabaseError(state: "22P02", message: "A value has a NUL.") }
        let copies = parameters.map { $0.text.flatMap { strdup($0) } }
        defer { copies.forEach { free($0) } }
        return try answer { connection in
            PQsendQueryParams(
                connection, sql.text, Int32(copies.count), nil, copies.map { $0.map { UnsafePointer($0) } }, nil, nil, 0
            )
        }
    }

    /// Runs statements without parameters, separated by semicolons, in one transaction unless they say otherwise.
    func script(_ sql: SQL) throws(DatabaseError) {
        _ = try answer { PQsendQuery($0, sql.text) }
    }

    /// Repeats `body` while it conflicts with others, at most five times. A lost connection is not repeated: whether the
    /// statement was committed is not known.
    func repeating<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        for _ in 0..<4 {
            do throws(DatabaseError) {
                return try body()
            } catch {
                guard error.kind == .toRepeat, isOpen, error.state != "57014" else { throw error }
            }
        }
        return try body()
    }

    /// Lets statements take longer than usual, as one with thousands of jobs, or a migration that waits for another.
    func allow(_ limit: Duration) throws(DatabaseError) {
        self.limit = limit
        try script("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0")
    }

    private func answer(_ send: (OpaquePointer) -> Int32) throws(DatabaseError) -> Rows {
        guard isOpen else { throw DatabaseError(.toRepeat, "The connection to the database is closed.") }
        let deadline = ContinuousClock.now + limit
        guard send(connection) == 1 else { throw lost() }
        while true {
            let rest = PQflush(connection)
            guard rest >= 0 else { throw lost() }
            if rest == 0 { break }
            // The server may be unable to read before somebody reads what it has to say.
            if try wait(for: POLLIN | POLLOUT, until: deadline) & POLLIN != 0, PQconsumeInput(connection) != 1 {
                throw lost()
            }
        }
        var rows = Rows()
        var failure: DatabaseError?
        while let result = try result(until: deadline) {
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: rows = Rows(result)
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: throw lost()
            default: failure = failure ?? DatabaseError(result)
            }
        }
        let isBad = PQstatus(connection) == CONNECTION_BAD
        if isBad { close() }
        if let failure { throw isBad ? DatabaseError(.toRepeat, state: failure.state, failure.message) : failure }
        if isBad { throw DatabaseError(.toRepeat, "The connection to the database is lost.") }
        return rows
    }

    private func result(until deadline: ContinuousClock.Instant) throws(DatabaseError) -> OpaquePointer? {
        while PQisBusy(connection) == 1 {
            _ = try wait(for: POLLIN, until: deadline)
            guard PQconsumeInput(connection) == 1 else { throw lost() }
        }
        return PQgetResult(connection)
    }

    // MARK: Notifications

    /// Notifications of the channels of `LISTEN`, as soon as there are some.
    /// - Returns: nothing after `timeout`, or after the waker was used.
    func notifications(within timeout: Duration) throws(DatabaseError) -> [Notification] {
        guard isOpen else { throw DatabaseError(.toRepeat, "The connection to the database is closed.") }
        let deadline = ContinuousClock.now + timeout
        while true {
            var arrived: [Notification] = []
            while let notice = PQnotifies(connection) {
                defer { PQfreemem(notice) }
                arrived.append(
                    Notification(
                        channel: String(cString: notice.pointee.relname), payload: String(cString: notice.pointee.extra)
                    ))
            }
            guard arrived.isEmpty else { return arrived }
            var places = [pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)]
            if let waker { places.append(pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)) }
            guard Self.poll(&places, until: deadline) else { return [] }
            if let waker, places[1].revents != 0 {
                dld_eventfd_drain(waker.descriptor)
                return []
            }
            if places[0].revents != 0, PQconsumeInput(connection) != 1 { throw lost() }
        }
    }

    // MARK: Waiting

    /// - Returns: the events of poll(2).
    private func wait(for events: Int32, until deadline: ContinuousClock.Instant) throws(DatabaseError) -> Int32 {
        var places = [pollfd(fd: PQsocket(connection), events: Int16(events), revents: 0)]
        guard Self.poll(&places, until: deadline) else {
            close()
            throw DatabaseError(.toRepeat, "The database does not answer.")
        }
        let ready = Int32(places[0].revents)
        // Reading says what is wrong.
        return ready & (POLLERR | POLLHUP | POLLNVAL) != 0 ? ready | POLLIN : ready
    }

    /// - Returns: whether something is ready before the deadline.
    private static func poll(_ places: inout [pollfd], until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let left = deadline - .now
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            let count = Glibc.poll(&places, nfds_t(places.count), Int32(clamping: max(0, milliseconds + 1)))
            if count > 0 { return true }
            // Another fault of poll(2) would come again at once; reading names it.
            if count < 0, errno != EINTR { return true }
            if left <= .zero { return false }
        }
    }

    private func lost() -> DatabaseError {
        let reason = isOpen ? DatabaseError.line(String(cString: PQerrorMessage(connection))) : ""
        close()
        return DatabaseError(.toRepeat, reason.isEmpty ? "The connection to the database is lost." : reason)
    }
}
