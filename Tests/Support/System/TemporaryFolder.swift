import CLinux
import Glibc

/// A folder for one test, removed with its contents when the test releases it.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// - Parameter parent: the folder in which it is created; nil for the folder of this process.
    package init(in parent: String? = nil) throws {
        path = try Self.make(in: parent ?? ProcessFolder.shared.get(), "t-")
    }

    deinit { if !ProcessFolder.isKept { Files.removeTree(path) } }

    fileprivate static func make(in parent: String, _ name: String) throws(SupportError) -> String {
        var template = Array("\(parent)/\(name)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SupportError("mkdtemp in \(parent): errno \(errno)") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The absolute path of `name` in the folder.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Creates a folder in the folder and returns its path.
    @discardableResult
    package func folder(_ name: String, mode: mode_t = 0o755) throws -> String {
        let path = file(name)
        guard mkdir(path, mode) == 0 else { throw SupportError("mkdir \(path): errno \(errno)") }
        return path
    }
}

/// The folder with all temporary folders of this process, which is removed with the process. A failed test, or an
/// object that outlives its test, leaves nothing behind. The next process removes what a killed process left.
private enum ProcessFolder {
    private static let prefix = "dld-test-"

    /// With DLD_KEEP_FOLDERS in the environment, everything stays, under a name that no later process removes.
    static let isKept = getenv("DLD_KEEP_FOLDERS") != nil

    /// In $TMPDIR or /tmp. Others may pass through it, because tests run servers as other users.
    static let shared: Result<String, SupportError> = Result { () throws(SupportError) in
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        sweep(base)
        let path = try TemporaryFolder.make(in: base, "\(isKept ? "dld-kept-" : prefix)\(getpid())-")
        chmod(path, 0o711)
        if isKept {
            print("The folders of these tests stay in \(path).")
        } else {
            atexit { if case .success(let path) = ProcessFolder.shared { Files.removeTree(path) } }
        }
        return path
    }

    private static func sweep(_ base: String) {
        for name in Files.names(in: base) where name.hasPrefix(prefix) {
            let number = name.dropFirst(prefix.count).prefix { $0 != "-" }
            guard let pid = pid_t(number), kill(pid, 0) != 0, errno == ESRCH else { continue }
            Files.removeTree("\(base)/\(name)")
        }
    }
}

/// A failure of the test's environment, not of what it tests.
package struct SupportError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// Whole files as bytes, without Foundation.
package enum Files {
    package static func read(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SupportError("open \(path): errno \(errno)") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { throw SupportError("read \(path): errno \(errno)") }
            if count == 0 { return bytes }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    package static func text(_ path: String) throws -> String { String(decoding: try read(path), as: UTF8.self) }

    /// Writes an executable file, by another process. If this process wrote it, a fork by a concurrent test could hold
    /// it open for writing, and execve(2) would fail with ETXTBSY.
    package static func program(_ path: String, _ text: String) async throws {
        try write(path + ".text", text)
        try await Program.require(["/usr/bin/install", "-m", "755", path + ".text", path])
    }

    package static func write(_ path: String, _ bytes: some Collection<UInt8>, mode: mode_t = 0o644) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw SupportError("create \(path): errno \(errno)") }
        defer { close(descriptor) }
        let all = Array(bytes)
        var offset = 0
        while offset < all.count {
            let count = all[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw SupportError("write \(path): errno \(errno)") }
            offset += count
        }
    }

    package static func write(_ path: String, _ text: String, mode: mode_t = 0o644) throws {
        try write(path, Array(text.utf8), mode: mode)
    }

    /// Tells whether the name exists, even as a dangling link.
    package static func exists(_ path: String) -> Bool { status(path) != nil }

    /// lstat(2).
    package static func status(_ path: String) -> stat? {
        var result = stat()
        return lstat(path, &result) == 0 ? result : nil
    }

    /// getxattr(2); nil if there is none.
    package static func extendedAttribute(_ name: String, of path: String) -> [UInt8]? {
        var value = [UInt8](repeating: 0, count: 1024)
        let length = getxattr(path, name, &value, value.count)
        return length < 0 ? nil : Array(value[..<length])
    }

    /// What must be equal before and after if nothing may touch a folder: of it and each file in it the inode, owner,
    /// mode, time of change and bytes.
    package static func state(of folder: String) throws -> [String: String] {
        var found: [String: String] = [:]
        for name in ["."] + names(in: folder) {
            guard let info = status("\(folder)/\(name)") else { throw SupportError("no \(name) in \(folder)") }
            let bytes = info.st_mode & S_IFMT == S_IFREG ? try read("\(folder)/\(name)") : []
            let time = "\(info.st_mtim.tv_sec).\(info.st_mtim.tv_nsec)"
            found[name] = "\(info.st_ino) \(info.st_uid):\(info.st_gid) \(info.st_mode) \(time) \(bytes.hashValue)"
        }
        return found
    }

    /// The names in a folder, including hidden ones, sorted; empty if it cannot be read.
    package static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    package static func removeTree(_ path: String) { removeTree(Array(path.utf8CString)) }

    /// Names need not be UTF-8.
    private static func removeTree(_ path: [CChar]) {
        guard unlink(path) != 0, let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                $0.prefix { $0 != 0 }.map { CChar(bitPattern: $0) }
            }
            if name != [46], name != [46, 46] { removeTree(path.dropLast() + [47] + name + [0]) }
        }
        closedir(folder)
        rmdir(path)
    }
}
