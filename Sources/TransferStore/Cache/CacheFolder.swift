import Glibc
import TransferModel

/// The files of the cache: a database, and a file for each body that is too long for it. Everything here may disappear
/// or be damaged at any time.
struct CacheFolder: Sendable {
    let path: String
    var database: String { path + "/cache.sqlite" }
    private var bodies: String { path + "/bodies" }
    private func body(_ id: Int64) -> String { "\(bodies)/\(id)" }

    /// - Throws: `TransferError`.
    func create() throws {
        for folder in [path, bodies] where mkdir(folder, 0o700) != 0 && errno != EEXIST {
            throw StoreFailure.system("Cannot create the cache folder", path: folder, errno: errno)
        }
        let descriptor = open(database, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            throw StoreFailure.system("Cannot open the cache", path: database, errno: errno)
        }
        close(descriptor)
    }

    /// Removes everything that the cache has made; anything that cannot be removed shows up again on the next open.
    func clear() {
        for end in ["", "-wal", "-shm", "-journal"] { unlink(database + end) }
        for name in names() { unlink("\(bodies)/\(name)") }
        // Has no effect on a folder.
        unlink(bodies)
    }

    /// Names of the files with bodies.
    func names() -> [String] {
        guard let folder = opendir(bodies) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    func remove(_ name: String) { unlink("\(bodies)/\(name)") }

    /// - Throws: `TransferError` `disk.full`, `disk.quota`, `disk.io`.
    func write(_ bytes: [UInt8], _ id: Int64) throws {
        let path = body(id)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw StoreFailure.system("Cannot write", path: path, errno: errno) }
        defer { close(descriptor) }
        var done = 0
        while done < bytes.count {
            let written = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress?.advanced(by: done), $0.count - done, off_t(done))
            }
            guard written > 0 else {
                let code = errno
                unlink(path)
                throw StoreFailure.system("Cannot write", path: path, errno: code)
            }
            done += written
        }
    }

    /// nil unless there are exactly this many bytes.
    func read(_ id: Int64, length: Int) -> [UInt8]? {
        let descriptor = open(body(id), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size == length else {
            return nil
        }
        var done = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            while done < length {
                let got = pread(descriptor, buffer.baseAddress?.advanced(by: done), length - done, off_t(done))
                guard got > 0 else { break }
                done += got
            }
            count = done
        }
        return done == length ? bytes : nil
    }

    func remove(_ id: Int64) { unlink(body(id)) }

    /// Identity of the file now at the database's path.
    var identity: (dev_t, ino_t)? { fileStatus(database).map { ($0.st_dev, $0.st_ino) } }
}
