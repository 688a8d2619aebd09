import CLinux

/// Has the kernel begin to write what the next checkpoint would otherwise wait for. Uses sync_file_range(2) with
/// SYNC_FILE_RANGE_WRITE alone, which promises nothing and takes no error from the fdatasync(2) that follows.
struct WriteBack: Synchronizing {
    /// Another call pays once this many bytes of one file were written since the last.
    static let bytes: Int64 = 8 << 20

    var part: PartFile
    var offset: Int64
    var count: Int64

    func synchronize() { dld_start_writing(part.fileDescriptor, offset, count) }
}
