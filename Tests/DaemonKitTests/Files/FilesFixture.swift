import Glibc
import TestSupport
import TransferModel

@testable import DaemonKit

/// A folder, opened as delivery has it, and a part file in it.
struct FilesFixture {
    let temporary: TemporaryFolder
    let access = FileAccess(mode: .user)
    static let me = UserID(geteuid())

    init() throws { temporary = try TemporaryFolder() }

    func open() throws -> Folder {
        try access.openFolder(temporary.path, owner: Self.me, create: false)
    }

    /// Writes a part file and returns its identity.
    func makePart(_ text: String = "content", name: String = FilesFixture.partName) throws -> FileIdentity {
        try Files.write(temporary.file(name), text)
        return try identity(of: name)
    }

    func identity(of name: String) throws -> FileIdentity {
        guard let status = Files.status(temporary.file(name)) else { throw SupportError("no \(name)") }
        return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    func text(_ name: String) throws -> String { try Files.text(temporary.file(name)) }
    var names: [String] { Files.names(in: temporary.path) }

    static let partName = PartName.make(task: TaskID(1), store: "store")
}

/// The code of the error that `body` throws; nil where it throws none.
func code(_ body: () throws -> Void) -> ErrorCode? {
    do {
        try body()
        return nil
    } catch {
        return (error as? TransferError)?.code ?? .internal
    }
}
