import FuzzTargets
import Glibc

// The functions that libFuzzer calls. `DLD_FUZZ_TARGET` names the target, and `DLD_FUZZ_PLANTED` plants its defect.
// `DLD_FUZZ_PRINT` prints all targets, or the target's words as a dictionary, and ends the process. The arguments are
// libFuzzer's own.

private let target = FuzzTarget.all.first { $0.name == environment("DLD_FUZZ_TARGET") }
private let isPlanted = environment("DLD_FUZZ_PLANTED") != nil

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ argc: UnsafeMutableRawPointer?, _ argv: UnsafeMutableRawPointer?) -> Int32 {
    switch environment("DLD_FUZZ_PRINT") {
    case "targets": print(FuzzTarget.all.map(\.name).joined(separator: "\n"))
    case "words": print((target?.words ?? []).map { "\"\(quoted($0))\"" }.joined(separator: "\n"))
    default:
        if target != nil { return 0 }
        print("DLD_FUZZ_TARGET names no target; there are \(FuzzTarget.all.map(\.name).joined(separator: ", ")).")
        exit(2)
    }
    exit(0)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func test(_ bytes: UnsafePointer<UInt8>?, _ length: Int) -> Int32 {
    guard let target else { return 0 }
    let input = Array(UnsafeBufferPointer(start: bytes, count: length))
    do {
        try isPlanted ? target.checkPlanted(input) : target.check(input)
    } catch {
        // libFuzzer keeps the input of a process that ends like this.
        let text = Array("\n\(target.name): \(error)\n".utf8)
        _ = text.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
        abort()
    }
    return 0
}

private func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// The form of libFuzzer's dictionaries: printable bytes and `\xAB`.
private func quoted(_ word: String) -> String {
    word.utf8.map { byte in
        let isPlain = (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        return isPlain ? String(Unicode.Scalar(byte)) : "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
}
