#if FOUNDATION_NETWORKING
    import Foundation
    import FoundationNetworking
#else
    import TransferNetworking
#endif

/// `library data|file|flight URL COUNT`: makes that many data tasks or downloads and waits for them, or for their
/// requests alone. Prints seconds of wall and of processor, and the peak of its memory in KiB.
@main
struct Library {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let url = URL(string: arguments[2]), let count = Int(arguments[3]) else {
            return print("usage: library data|file|flight URL COUNT")
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 600
        let session = URLSession(configuration: configuration)
        let begin = Date()
        let (ends, ended) = AsyncStream.makeStream(of: Bool.self)
        for _ in 0..<count {
            switch arguments[1] {
            case "file": session.downloadTask(with: url) { file, _, _ in ended.yield(file != nil) }.resume()
            default: session.dataTask(with: url) { data, _, _ in ended.yield(data?.isEmpty == false) }.resume()
            }
        }
        if arguments[1] == "flight" {
            try await Task.sleep(for: .seconds(5))
        } else {
            var left = count
            for await isGood in ends {
                guard isGood else { return print("a task failed") }
                left -= 1
                if left == 0 { break }
            }
        }
        let wall = Date().timeIntervalSince(begin)
        print(wall, processor(), memory())
    }

    private static func processor() -> Double {
        let fields = text("/proc/self/stat").split(separator: ")").last?.split(separator: " ") ?? []
        // utime and stime, in hundredths of a second (proc(5)).
        return fields.count > 12 ? (Double(fields[11]) ?? 0) / 100 + (Double(fields[12]) ?? 0) / 100 : 0
    }

    private static func memory() -> Int {
        let line = text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("VmHWM") }
        return line?.split(separator: " ").compactMap { Int($0) }.first ?? 0
    }

    private static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}
