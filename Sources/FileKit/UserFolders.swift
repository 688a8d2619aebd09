import Threading
import TransferModel

/// The folders in which users of the system daemon put files to be read and find files that were fetched. Each folder
/// is created when its user first asks for it, before there is a task.
package final class UserFolders: Sendable {
    private let access: FileAccess
    private let pool: BlockingPool
    private let made = Guarded(Set<UserID>())

    package init(access: FileAccess, pool: BlockingPool) {
        self.access = access
        self.pool = pool
    }

    /// The user's folder; nil in user mode. If it cannot be created, the user's first task reports why.
    package func folder(of owner: UserID) async -> String? {
        guard let path = access.homeFolder(of: owner), !made.withLock({ $0.contains(owner) }) else {
            return access.homeFolder(of: owner)
        }
        do {
            try await pool.run { [access] () throws(TransferError) in try access.prepareFolder(of: owner) }
            made.withLock { _ = $0.insert(owner) }
        } catch {}
        return path
    }
}
