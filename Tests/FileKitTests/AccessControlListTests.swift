import Testing
import TransferModel

@testable import FileKit

struct AccessControlListTests {
    /// The output of `getfattr -e hex -n system.posix_acl_access` after `setfacl -m u:1000:rwx,g::-,o::-` on a folder
    /// of root, with an entry for root itself.
    @Test func itIsEncodedAsTheKernelStoresIt() {
        let list = AccessControlList.shared(between: UserID(1000), and: .root)
        #expect(
            list.encoded == [
                2, 0, 0, 0,
                1, 0, 7, 0, 255, 255, 255, 255,
                2, 0, 7, 0, 0, 0, 0, 0,
                2, 0, 7, 0, 0xe8, 3, 0, 0,
                4, 0, 0, 0, 255, 255, 255, 255,
                16, 0, 7, 0, 255, 255, 255, 255,
                32, 0, 0, 0, 255, 255, 255, 255,
            ])
    }

    @Test func aUserIsListedOnceWhereDaemonAndOwnerAreOne() {
        let list = AccessControlList.shared(between: UserID(7), and: UserID(7))
        #expect(list.entries.filter { $0.tag == .user }.map(\.id) == [7])
    }
}
