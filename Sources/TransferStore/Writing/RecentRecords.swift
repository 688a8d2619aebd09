import CSQLite
import Glibc
import TransferModel

/// What the connection that writes knows without reading: counters, and records of tasks that were read or written a moment
/// ago, as their rows are now. What is claimed was added just before, and
/// what ends was claimed just before. Neither is read and decoded again.
///
/// SQLite tells of each row that changes, so that nobody can forget to; a body that is undone, and a commit of another
/// program, empty it. Only the connection that writes uses it.
final class RecentRecords: @unchecked Sendable {
    private struct Entry {
        var record: TaskRecord
        var place: Tallies.Place
        /// `expires_at`, of which a record says nothing.
        var expiry: Timestamp?
        var cost: Int
    }

    /// Bytes, about; what comes then is not kept, since the oldest are wanted first.
    static let most = 4 << 20
    /// Of a record without the texts of its spec.
    static let least = 2 << 10

    /// Of volatile sessions: events are not kept, and owners have bounds.
    let isVolatile: Bool
    @exclusivity(unchecked) private var entries: [TaskID: Entry] = [:]
    @exclusivity(unchecked) var tallies = Tallies()
    /// The task that is being changed by who knows what its record says then.
    @exclusivity(unchecked) private var own: TaskID?
    private var bytes = 0
    /// Of the database after the last commit of this connection.
    private var version: UInt32?

    init(isVolatile: Bool = false) { self.isVolatile = isVolatile }

    /// Hears of all changes of this connection. For as long as that is open this must be kept.
    func follow(_ writer: Connection) {
        sqlite3_update_hook(
            writer.handle,
            { context, _, _, table, row in
                guard let context, let table, RecentRecords.isOfTasks(table) else { return }
                Unmanaged<RecentRecords>.fromOpaque(context).takeUnretainedValue().hear(TaskID(row))
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Whether a row of this table is what the record with its number says.
    private static func isOfTasks(_ table: UnsafePointer<CChar>) -> Bool {
        strcmp(table, "task") == 0 || strcmp(table, "checkpoint") == 0 || strcmp(table, "response") == 0
            || strcmp(table, "upload") == 0 || strcmp(table, "source") == 0
    }

    /// A transaction begins.
    func begin(_ writer: Connection) {
        if writer.dataVersion != version { forgetAll() }
    }

    /// It is committed.
    func committed(_ writer: Connection) { version = writer.dataVersion }

    func record(_ id: TaskID) -> TaskRecord? { entries[id]?.record }

    /// The stored status, and `expires_at`.
    func stored(_ id: TaskID) -> (status: Boxed<TaskStatus>, expiry: Timestamp?, place: Tallies.Place)? {
        entries[id].map { ($0.record.$status, $0.expiry, $0.place) }
    }

    /// Takes a task that was added.
    /// - Parameter length: of its spec's text.
    func noteAdded(_ record: @autoclosure () -> TaskRecord, _ place: Tallies.Place, expiry: Timestamp?, length: Int) {
        let cost = Self.least + length
        guard bytes + cost <= Self.most else { return }
        keep(record(), place, expiry, cost)
    }

    /// Takes a task that was read.
    func noteRead(_ record: TaskRecord, _ place: Tallies.Place, expiry: Timestamp?, length: Int) {
        let cost = Self.least + length
        guard !record.status.state.isFinal, cost <= Self.most / 16 else { return }
        // What is kept is not what is asked for.
        if bytes + cost > Self.most { (entries, bytes) = ([:], 0) }
        keep(record, place, expiry, cost)
    }

    /// Runs `write`, which stores `change` and nothing else that a record has.
    /// - Parameter write: says whether the task was in the state that the change comes from.
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
