@_exported import Foundation
@_exported import FoundationNetworking

// A type that is reused needs an alias: `import class TransferNetworking.URLResponse` is ambiguous without one.
public typealias URLRequest = FoundationNetworking.URLRequest
public typealias NSURLRequest = FoundationNetworking.NSURLRequest
public typealias NSMutableURLRequest = FoundationNetworking.NSMutableURLRequest
public typealias URLResponse = FoundationNetworking.URLResponse
public typealias HTTPURLResponse = FoundationNetworking.HTTPURLResponse
public typealias HTTPCookie = FoundationNetworking.HTTPCookie
public typealias HTTPCookiePropertyKey = FoundationNetworking.HTTPCookiePropertyKey
public typealias CachedURLResponse = FoundationNetworking.CachedURLResponse
public typealias URLError = Foundation.URLError

/// The key of resume data in the `userInfo` of a download's error.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"
/// The name that FoundationNetworking has for it.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let URLSessionDownloadTaskResumeData = NSURLSessionDownloadTaskResumeData
/// The number of bytes of a body or file that nobody knows.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionTransferSizeUnknown: Int64 = -1

extension URLError {
    /// What `URLSession.downloadTask(withResumeData:)` continues from.
    public var downloadTaskResumeData: Data? { userInfo[NSURLSessionDownloadTaskResumeData] as? Data }

    /// Why a background task was cancelled.
    public enum BackgroundTaskCancelledReason: Int, Sendable {
        case userForceQuitApplication, backgroundUpdatesDisabled, insufficientSystemResources
    }
    /// nil: dld cancels no background task by itself.
    public var backgroundTaskCancelledReason: BackgroundTaskCancelledReason? { nil }

    /// Why no network may be used.
    public enum NetworkUnavailableReason: Int, Sendable {
        case cellular, expensive, constrained
    }
    /// nil: the daemon does not tell.
    public var networkUnavailableReason: NetworkUnavailableReason? { nil }
}
