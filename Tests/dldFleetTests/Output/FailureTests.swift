import Testing

@testable import dld_fleet

@Suite struct FailureTests {
    @Test(arguments: [
        (DatabaseError(.noConnection, "x"), dld_fleet.ExitStatus.noDatabase, "database.unreachable"),
        (DatabaseError(.toRepeat, "x"), .noDatabase, "database.unreachable"),
        (DatabaseError(state: "57P01", message: "x"), .noDatabase, "57P01"),
        (DatabaseError(state: "57014", message: "x"), .refused, "57014"),
        (DatabaseError(state: "40001", message: "x"), .refused, "40001"),
        (DatabaseError(state: "42501", message: "x"), .refused, "42501"),
        (DatabaseError(state: "DL002", message: "x"), .refused, "DL002"),
        (DatabaseError(state: "22P05", message: "x"), .refused, "22P05"),
    ])
    func errorsHaveStatuses(_ error: DatabaseError, _ status: dld_fleet.ExitStatus, _ code: String) {
        #expect(Failure(error).status == status && Failure(error).code == code)
    }

    @Test(arguments: [
        (["list", "--state", "x"], dld_fleet.ExitStatus.usage), (["lsit"], .usage), (["add"], .usage),
        (["show", "0"], .usage),
        (["--version"], .done), (["add", "--help"], .done), (["list", "--config", "/nowhere.yaml"], .configuration),
    ])
    func commandLinesHaveStatuses(_ words: [String], _ status: dld_fleet.ExitStatus) async {
        #expect(await DldFleet.run(words) == status)
    }
}
