package blob

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob/s3blob"

	"rowmill/internal/fault"
)

// headerTimeout bounds the wait for a store that took a request and does not
// answer. Joining the parts of a big upload may take S3 minutes, but it sends
// its header within seconds.
const headerTimeout = time.Minute

// s3Settings is what the parameters of an s3:// URL say.
type s3Settings struct {
	region, endpoint string
	pathStyle        bool
	checksums        string
}

func openS3(ctx context.Context, u *url.URL) (*Store, error) {
	if u.Host == "" || u.Path != "" && u.Path != "/" || u.Fragment != "" {
		return nil, fault.New(fault.Invalid, "The file store's bucket is given as s3://bucket, without a path.")
	}
	set, err := readS3Settings(u.RawQuery)
	if err != nil {
		return nil, err
	}
	cfg, err := loadAWS(ctx, set)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "The settings for S3 cannot be read.")
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = set.pathStyle
		o.DisableLogOutputChecksumValidationSkipped = true // a line for each read of a store without checksums
		if set.endpoint != "" {
			o.BaseEndpoint = aws.String(set.endpoint)
		}
	})
	// The upload manager does not take the client's choice of checksums over.
	bucket, err := s3blob.OpenBucket(ctx, client, u.Host, &s3blob.Options{RequestChecksumCalculation: cfg.RequestChecksumCalculation})
	if err != nil {
		return nil, failure(err, "open bucket %s", u.Host)
	}
	return &Store{bucket: bucket, s3: client, name: u.Host}, nil
}

func loadAWS(ctx context.Context, set s3Settings) (aws.Config, error) {
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.ResponseHeaderTimeout = headerTimeout
	})
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(client)}
	if set.region != "" {
		options = append(options, config.WithRegion(set.region))
	}
	if set.checksums == "when_required" {
		options = append(options,
			config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
			config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, err
	}
	if cfg.Region == "" {
		return cfg, fault.New(fault.Invalid, "no region: give it in the URL or as AWS_REGION")
	}
	return cfg, nil
}

func readS3Settings(query string) (set s3Settings, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return set, fault.Wrap(err, fault.Invalid, "The parameters of the file store's URL cannot be read.")
	}
	for name, given := range values {
		value, valid := given[0], len(given) == 1
		switch name {
		case "region":
			set.region = value
		case "endpoint":
			set.endpoint = value
			endpoint, err := url.Parse(value)
			valid = valid && err == nil && endpoint.Host != "" && (endpoint.Scheme == "http" || endpoint.Scheme == "https") && endpoint.User == nil
		case "use_path_style":
			set.pathStyle, err = strconv.ParseBool(value)
			valid = valid && err == nil
		case "checksums":
			set.checksums = value
			valid = valid && (value == "when_supported" || value == "when_required")
		default:
			valid = false
		}
		if !valid {
			return set, fault.New(fault.Invalid, "The file store's URL has a wrong parameter %q. Parameters: region, endpoint (http or https), use_path_style (true or false), checksums (when_supported or when_required); each once.", name)
		}
	}
	return set, nil
}
