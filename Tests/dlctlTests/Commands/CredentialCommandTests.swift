import ArgumentParser
import Testing

@testable import dlctl

@Suite struct CredentialCommandTests {
    /// Part of it would be taken for the password, in place of the one that was given.
    @Test func aUserNameHasNoColon() async throws {
        await #expect(throws: (any Error).self) {
            try await CredentialCommand.Add.asyncParse(["a.org", "--username", "a:b"])
        }
        let command = try await CredentialCommand.Add.asyncParse(["a.org", "--username", "anna", "--password-stdin"])
        #expect(command.username == "anna")
    }

    /// Whatever the parser says of it.
    @Test func aPasswordInTheServersPlaceIsNotShown() async throws {
        do {
            _ = try await CredentialCommand.Add.asyncParse(["https://anna:Zq7secretqZ@a.org/x"])
            #expect(Bool(false), "it was taken")
        } catch {
            let text = CredentialCommand.Add.fullMessage(for: error)
            #expect(!text.contains("Zq7secretqZ") && text.contains("--username NAME"), "\(text)")
        }
    }
}
