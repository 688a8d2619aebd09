import Glibc
import Testing
import TransferModel

@testable import DaemonKit

struct FailedStartTests {
    private let fault = TransferError(.permissionDenied, "Cannot use the state folder /srv/dld: Read-only file system.")

    private func advice(
        _ path: String, isSystem: Bool = true, environment: [String: String] = ["STATE_DIRECTORY": "/var/lib/dld"]
    ) -> String {
        FailedStart.advising(fault, stateFolder: path, isSystem: isSystem, environment: environment).message
    }

    @Test func aFolderThatTheUnitClosesIsToBeOpened() {
        #expect(advice("/srv/dld").contains("add ReadWritePaths=/srv/dld to the unit"))
        #expect(advice("/var/lib/dld-2").contains("ReadWritePaths=/var/lib/dld-2"))
        #expect(advice("/home/dld/state").contains("ProtectHome=") && !advice("/home/dld/state").contains("ReadWrite"))
    }

    @Test func nothingIsAdvisedWhereTheUnitHasNoPartInIt() {
        for message in [
            advice("/var/lib/dld"), advice("/var/lib/dld/state"), advice("/srv/dld", isSystem: false),
            advice("/srv/dld", environment: [:]),
        ] {
            #expect(message == fault.message)
        }
        let full = TransferError(.diskFull, "No space.")
        let same = FailedStart.advising(
            full, stateFolder: "/srv/dld", isSystem: true, environment: ["STATE_DIRECTORY": "/var/lib/dld"])
        #expect(same == full)
    }

    @Test func theSystemsMistakesAreItsAdministrators() {
        let own = FailedStart.refusal(isSystem: false, cause: "dld.yaml:1: no.\ndld.yaml:2: nor this.")
        let system = FailedStart.refusal(isSystem: true, cause: "dld.yaml:1: no")
        #expect(own.message.contains("dld.yaml:1: no. dld.yaml:2: nor this. When ") && own.code == .shuttingDown)
        #expect(!system.message.contains("dld.yaml") && system.message.contains("journalctl -u dld.service"))
    }

    /// A limit far above what the state needs is not the cause.
    @Test func aFileSizeLimitIsNamedOnlyIfItCanBeTheCause() {
        func advice(_ limit: ByteCount, errno: Int32 = ENOSPC) -> String {
            let full = TransferError(.diskFull, "No space.", details: ["errno": .integer(Int64(errno))])
            return FailedStart.advising(
                full, stateFolder: "/no/state", isSystem: false, environment: [:], limit: limit
            ).message
        }
        #expect(advice(.mebibytes(15)).contains("ulimit -f"))
        #expect(!advice(.mebibytes(17)).contains("ulimit -f"))
        #expect(advice(.mebibytes(17), errno: EFBIG).contains("ulimit -f"))
    }
}
