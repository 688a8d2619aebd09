import Glibc
import TransferModel

/// What the kernel says of this process; nil if it says nothing.
enum ProcessFigures {
    /// The second number of /proc/self/statm, which counts pages (proc(5)).
    static var residentMemory: ByteCount? {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = read(descriptor, &buffer, buffer.count)
        let fields = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int64(fields[1]) else { return nil }
        return ByteCount(pages * Int64(sysconf(Int32(_SC_PAGESIZE))))
    }

    /// Of all threads, in user and kernel mode.
    static var processorTime: Seconds? {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return nil }
        let times = [usage.ru_utime, usage.ru_stime]
        return Seconds(times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 })
    }

    static var openDescriptors: Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without `.`, `..` and the folder itself.
        return count - 3
    }
}
