import FileKit
import Glibc
import TransferModel

/// A folder opened as in delivery, and a part file in it.
package struct FilesFixture {
    package let temporary: TemporaryFolder
    package let access = FileAccess(mode: .user)
    package static let me = UserID(geteuid())

    package init() throws { temporary = try TemporaryFolder() }

    package func open() throws -> Folder {
        try access.openFolder(temporary.path, owner: Self.me, create: false)
    }

    /// Writes a part file and returns its identity.
    package func makePart(_ text: String = "content", name: String = FilesFixture.partName) throws -> FileIdentity {
        try Files.write(temporary.file(name), text)
        return try identity(of: name)
    }

    package func identity(of name: String) throws -> FileIdentity {
        guard let status = Files.status(temporary.file(name)) else { throw SupportError("no \(name)") }
        return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    package func text(_ name: String) throws -> String { try Files.text(temporary.file(name)) }
    package var names: [String] { Files.names(in: temporary.path) }

    package static let partName = PartName.make(task: TaskID(1), store: "store")
}

/// The code of the error that `body` throws; nil if it throws no error.
package func code(_ body: () throws -> Void) -> ErrorCode? {
    do {
        try body()
        return nil
    } catch {
        return (error as? TransferError)?.code ?? .internal
    }
}
