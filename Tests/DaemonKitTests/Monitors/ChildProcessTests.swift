import Glibc
import TestSupport
import Testing

@testable import DaemonKit

struct ChildProcessTests {
    @Test(arguments: [("exit 0", Int32(0)), ("exit 7", 7), ("kill -9 $$", 137)])
    func theExitStatusComesBack(script: String, expected: Int32) throws {
        let child = try ChildProcess.spawn(["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        #expect(ChildProcess.wait(child) == expected)
    }

    /// A library may have opened a connection that any program would inherit.
    @Test func itInheritsNoDescriptors() throws {
        let temporary = try TemporaryFolder()
        let kept = dup(0)
        defer { close(kept) }
        let script = "ls /proc/$$/fd > \(temporary.file("list")); echo > \(temporary.file("end"))"
        let child = try ChildProcess.spawn(["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        #expect(ChildProcess.wait(child) == 0)
        let open = try Files.text(temporary.file("list")).split(separator: "\n")
        #expect(open.contains("2") && !open.contains("\(kept)"))
    }

    @Test func itHasASessionOfItsOwnAndNoInput() throws {
        let temporary = try TemporaryFolder()
        let script =
            "cat > \(temporary.file("in")); cut -d' ' -f6 /proc/$$/stat > \(temporary.file("session")); echo $$ > \(temporary.file("pid"))"
        let child = try ChildProcess.spawn(["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        #expect(ChildProcess.wait(child) == 0)
        #expect(try Files.read(temporary.file("in")).isEmpty)
        #expect(try Files.text(temporary.file("session")) == "\(child)\n")
    }
}
