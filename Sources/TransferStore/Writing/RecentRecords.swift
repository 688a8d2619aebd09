import CSQLite
import Glibc
import TransferModel

/// What the writing connection knows without reading: counters, and the records of tasks that were read or written
/// recently, as their rows are now. A task that is claimed was often just added, and a task that ends was just claimed:
/// neither is read and decoded again.
///
/// SQLite reports each row that changes, so no change is missed. A body that is rolled back, and a commit of another
/// program, empty it. Only the writing connection uses it.
final class RecentRecords: @unchecked Sendable {
    private struct Entry {
        var record: TaskRecord
        var place: Tallies.Place
        /// `expires_at`, which is not in a record.
        var expiry: Timestamp?
        var cost: Int
    }

    /// Approximate bytes. Records added beyond this are not kept, since the oldest are needed first.
    static let most = 4 << 20
    /// Bytes of a record, its spec and its place in the table. The spec's texts are about as long as its JSON.
    static let least = 1280

    /// For volatile sessions: events are not kept, and owners have bounds.
    let isVolatile: Bool
    @exclusivity(unchecked) private var entries: [TaskID: Entry] = [:]
    @exclusivity(unchecked) var tallies = Tallies()
    /// The task that is being changed by code that knows what its record will say.
    @exclusivity(unchecked) private var own: TaskID?
    private var bytes = 0
    /// The database's version after the last commit of this connection.
    private var version: UInt32?

    init(isVolatile: Bool = false) { self.isVolatile = isVolatile }

    /// Is called for all changes of this connection. Must live as long as that is open.
    func follow(_ writer: Connection) {
        sqlite3_update_hook(
            writer.handle,
            { context, _, _, table, row in
                guard let context, let table, RecentRecords.isOfTasks(table) else { return }
                Unmanaged<RecentRecords>.fromOpaque(context).takeUnretainedValue().hear(TaskID(row))
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Whether rows of this table belong to the record of the task with their number.
    private static func isOfTasks(_ table: UnsafePointer<CChar>) -> Bool {
        strcmp(table, "task") == 0 || strcmp(table, "checkpoint") == 0 || strcmp(table, "response") == 0
            || strcmp(table, "upload") == 0 || strcmp(table, "source") == 0
    }

    /// A transaction begins.
    func begin(_ writer: Connection) {
        if writer.dataVersion != version { forgetAll() }
    }

    /// The transaction is committed.
    func committed(_ writer: Connection) { version = writer.dataVersion }

    func record(_ id: TaskID) -> TaskRecord? { entries[id]?.record }

    /// The stored status, and `expires_at`.
    func stored(_ id: TaskID) -> (status: Boxed<TaskStatus>, expiry: Timestamp?, place: Tallies.Place)? {
        entries[id].map { ($0.record.$status, $0.expiry, $0.place) }
    }

    /// Keeps a task that was added.
    /// - Parameter length: of its spec's text.
    func noteAdded(_ record: @autoclosure () -> TaskRecord, _ place: Tallies.Place, expiry: Timestamp?, length: Int) {
        let cost = Self.least + length
        guard bytes + cost <= Self.most else { return }
        keep(record(), place, expiry, cost)
    }

    /// Keeps a task that was read.
    func noteRead(_ record: TaskRecord, _ place: Tallies.Place, expiry: Timestamp?, length: Int) {
        let cost = Self.least + length
        guard !record.status.state.isFinal, cost <= Self.most / 16 else { return }
        // The kept records are not the ones that are now read.
        if bytes + cost > Self.most { (entries, bytes) = ([:], 0) }
        keep(record, place, expiry, cost)
    }

    /// Runs `write`, which stores `change` and nothing else of a record.
    /// - Parameter write: returns whether the task was in the state that the change starts from.
    func changing(_ change: StatusChange, expiry: Timestamp?, _ write: () throws -> Bool) rethrows -> Bool {
        own = change.id
        defer { own = nil }
        do {
            guard try write() else { return false }
        } catch {
            forget(change.id)
            throw error
        }
        if change.status.state.isFinal || change.result != nil {
            forget(change.id)
        } else if let place = entries.index(forKey: change.id) {
            entries.values[place].record.$status = change.$status
            entries.values[place].expiry = expiry
        }
        return true
    }

    func forgetAll() {
        entries = [:]
        tallies = Tallies()
        bytes = 0
    }

    private func keep(_ record: TaskRecord, _ place: Tallies.Place, _ expiry: Timestamp?, _ cost: Int) {
        let replaced = entries.updateValue(
            Entry(record: record, place: place, expiry: expiry, cost: cost), forKey: record.id)
        bytes += cost - (replaced?.cost ?? 0)
    }

    /// A row of the task changes.
    private func hear(_ id: TaskID) { if id != own { forget(id) } }

    private func forget(_ id: TaskID) {
        guard !entries.isEmpty, let entry = entries.removeValue(forKey: id) else { return }
        bytes -= entry.cost
    }
}
