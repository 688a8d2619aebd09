import TransferNetworking

import class TransferNetworking.HTTPURLResponse
import struct TransferNetworking.URLRequest
import class TransferNetworking.URLResponse
import class TransferNetworking.URLSession

/// Fetches each URL and prints its status and its length.
@main
struct Client {
    static func main() async {
        for argument in CommandLine.arguments.dropFirst() {
            guard let url = URL(string: argument) else { return print("no URL: \(argument)") }
            do {
                let (data, response): (Data, URLResponse) = try await URLSession.shared.data(for: URLRequest(url: url))
                print((response as? HTTPURLResponse)?.statusCode ?? 0, data.count)
            } catch {
                print(error.localizedDescription)
            }
        }
    }
}
