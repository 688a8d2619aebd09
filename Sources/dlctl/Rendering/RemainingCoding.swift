import TransferModel
import TransferRPC

/// Content codings that a file still has, because the daemon does not decode them.
enum RemainingCoding {
    /// RFC 9110 section 18.6. Other words in that field say nothing about the bytes.
    private static let known: Set<String> = [
        "gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip",
        "aes128gcm", "xz", "lzma", "bzip2",
    ]

    /// The codings that the daemon decodes when it delivers a file.
    private static let undone: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd", "x-zstd"]

    /// All codings of the answer, innermost first.
    private static func all(of task: TaskView) -> [String] {
        (task.response?.headers ?? []).filter { $0.name.lowercased() == "content-encoding" }
            .flatMap { $0.value.split(separator: ",") }
            .map { String($0.filter { $0 != " " && $0 != "\t" }).lowercased() }
            .filter(known.contains)
    }

    /// Why the name of a delivered file shows a coding; nil if it has none.
    static func ofFile(_ task: TaskView) -> String? {
        guard task.spec.kind == .download, task.file != nil else { return nil }
        var codings = all(of: task)
        while let outermost = codings.last, undone.contains(outermost) { codings.removeLast() }
        guard !codings.isEmpty else { return nil }
        return
            "the server sent it coded (\(codings.joined(separator: ", "))), which dld does not decode; its name says so"
    }
}
