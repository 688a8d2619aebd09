import CLinux

/// Has the kernel begin to write what the next checkpoint would otherwise have to wait for: sync_file_range(2) with
/// SYNC_FILE_RANGE_WRITE alone, which neither promises anything nor takes an error from the fdatasync(2) that follows.
struct WriteBack: Synchronizing {
    /// Bytes written since the last one, of one file, that make another worth a call.
    static let bytes: Int64 = 8 << 20

    var part: PartFile
    var offset: Int64
    var count: Int64

    func synchronize() { dld_start_writing(part.fileDescriptor, offset, count) }
}
