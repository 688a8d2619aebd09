import Glibc
import NIOCore
import Testing

@testable import TransferClient

struct ConnectFailureTests {
    @Test func saysCausesInWords() {
        func sentence(_ code: CInt) -> String { ConnectFailure.sentence(IOError(errnoCode: code, reason: "connect")) }
        #expect(sentence(ENOENT) == "there is no such socket")
        #expect(sentence(ECONNREFUSED) == "nobody listens there")
        #expect(sentence(EACCES).hasPrefix("this user may not connect to it (the system's daemon"))
        #expect(sentence(ENOTDIR) == "Not a directory")
    }
}
