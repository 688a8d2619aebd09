import Glibc
import Testing
import TransferModel

@testable import FileKit

struct FileErrorsTests {
    @Test(arguments: [
        (ENOSPC, ErrorCode.diskFull), (EDQUOT, .diskQuota), (EIO, .diskIO), (EROFS, .diskIO), (ESTALE, .diskIO),
        (EACCES, .destinationNotWritable), (EPERM, .destinationNotWritable), (ENOENT, .destinationBadPath),
        (ENOTDIR, .destinationBadPath), (ENAMETOOLONG, .destinationBadPath), (EEXIST, .destinationExists),
        (EMFILE, .diskIO), (EFBIG, .destinationNotWritable),
    ])
    func everyErrnoHasItsCode(number: Int32, expected: ErrorCode) {
        let error = TransferError.destination(errno: number, "write", "/srv/a")
        #expect(error.code == expected)
        #expect(error.message.contains("/srv/a"))
        #expect(error.details["errno"]?.integerValue == Int64(number))
    }

    @Test func onlyWhatClearsItselfWaitsForTheDisk() {
        #expect(TransferError.disk(errno: ENOSPC, "write", "/a")?.code == .diskFull)
        #expect(TransferError.disk(errno: EACCES, "write", "/a") == nil)
        #expect(TransferError.source(errno: ENOENT, "/a").code == .sourceUnreadable)
        // A temporary lack of descriptors or memory tells nothing about the file.
        for number in [EIO, ESTALE, EMFILE, ENFILE, ENOMEM] {
            #expect(TransferError.source(errno: number, "/a").code == .diskIO)
        }
    }
}
